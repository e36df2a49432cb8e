//! The exact bytes of every frame. Shell extensions match them, so a change here is a change of the
//! protocol.

use std::collections::BTreeSet;

use haft_protocol::codec::{FrameSet, encode};
use insta::assert_snapshot;

use crate::samples;

/// Returns the lines of the frames, after a check that every kind occurs.
#[track_caller]
fn lines<F: FrameSet>(frames: &[F]) -> String {
    let kinds: BTreeSet<_> = frames.iter().map(F::kind).collect();
    assert_eq!(kinds, F::KINDS.iter().copied().collect(), "frames without a sample");
    frames.iter().map(|frame| encode(frame).unwrap()).collect()
}

#[test]
fn host_frames_serialize_as_documented_lines() {
    assert_snapshot!(lines(&samples::host()), @r#"
    {"type":"hello_ack","protocol_version":1,"zot_version":"0.1.0","haft_version":"0.1.0","provider":"anthropic","model":"claude","cwd":"/src/app","extension_dir":"/ext/todo","data_dir":"/ext/todo","capabilities":["panel_resize","before_agent_start","before_compact","ping","event_gap","intercept_roles","host_services","register_rejected","status"],"limits":{"max_line":1048576,"max_result_line":8388608,"max_depth":64,"max_nodes":200000,"max_name":64,"max_tools":128,"max_tools_in_all":512,"max_commands":256,"max_completions":100,"max_completion_text":200,"max_tool_description":4096,"max_tool_schema":65536,"hello_ms":10000,"ready_ms":10000,"command_ms":30000,"completions_ms":1000,"tool_call_ms":60000,"max_host_calls":16,"max_asks":4,"host_call_ms":30000,"intercept_ms":5000,"approval_ms":60000,"queue_frames":256,"queue_bytes":4194304,"write_stall_ms":10000,"partial_line_ms":30000,"frames_per_second":200,"frame_burst":2000,"overrun_ms":10000,"notes_per_second":10,"note_burst":50,"max_status_items":8,"max_status_text":80,"panels_per_second":30,"ping_ms":5000,"pong_ms":10000,"stderr_per_second":65536,"max_log":1048576,"max_result_text":51200,"max_result_lines":2000,"max_image":5242880,"max_images":8,"restart_min_ms":500,"restart_max_ms":30000,"max_crashes":5,"crash_window_ms":180000,"shutdown_ms":2000,"kill_ms":1000},"mode":"rpc","config":{"units":"si"},"sandbox":"standard","granted":{"net":"none"}}
    {"type":"register_rejected","what":"tool","name":"bash2","permission":"tools.register","reason":"not granted"}
    {"type":"command_invoked","id":"1","name":"weather","args":"berlin"}
    {"type":"command_invoked","id":"2","name":"weather"}
    {"type":"command_completions","id":"1","name":"todo","prefix":"d"}
    {"type":"command_completions","id":"1","name":"todo"}
    {"type":"tool_call","id":"3","name":"weather","args":{"city":"Berlin"}}
    {"type":"tool_call","id":"3","name":"weather","args":{"city":"Berlin"},"tool_id":"toolu_1"}
    {"type":"event","event":"session_start"}
    {"type":"event","event":"session_start","session_id":"0199","session_path":"/s/0199.jsonl"}
    {"type":"event","event":"turn_start","step":1}
    {"type":"event","event":"tool_call","tool_id":"toolu_1","tool_name":"bash","tool_args":{"command":"ls"}}
    {"type":"event","event":"assistant_message","text":"done"}
    {"type":"event","event":"assistant_message"}
    {"type":"event","event":"compaction_start","reason":"overflow"}
    {"type":"event","event":"compaction_end","text":"Half is done."}
    {"type":"event","event":"compaction_end","error":"aborted"}
    {"type":"event","event":"turn_end","stop":"end"}
    {"type":"event","event":"turn_end","stop":"error","error":"refused"}
    {"type":"event","event":"tool_end","id":"toolu_1","name":"bash","duration_ms":12,"session":"0199"}
    {"type":"event_gap","lost":12}
    {"type":"event_intercept","id":"4","event":"tool_call","tool_id":"toolu_1","tool_name":"bash","tool_args":{"command":"ls"}}
    {"type":"event_intercept","id":"10","event":"tool_call","tool_id":"host-1","tool_name":"bash","tool_args":{"command":"ls"},"caller":"notes","resolved_paths":[{"argument":"path","path":"/srv/ada/x","exists":true,"link":true}]}
    {"type":"event_intercept","id":"5","event":"turn_start","step":3}
    {"type":"event_intercept","id":"6","event":"assistant_message","text":"one\u2028line"}
    {"type":"event_intercept","id":"7","event":"before_agent_start","prompt":"rain?","system_prompt":"You are haft."}
    {"type":"event_intercept","id":"9","event":"before_compact","reason":"manual","instructions":"mind the tests","tokens_before":7000,"window":8192,"previous_summary":"A bug.","files_read":["a.rs"],"files_modified":["b.rs"],"first_kept":"2","entries":[{"id":"1","text":"[user]\nfix it","may_begin":true},{"id":"2","text":"[result of read]\nx"}]}
    {"type":"event_intercept","id":"11","event":"session_start","session_id":"0199","session_path":"/s/0199.jsonl","reason":"resume","previous_path":"/s/0198.jsonl"}
    {"type":"event_intercept","id":"12","event":"session_shutdown","reason":"quit"}
    {"type":"event_intercept","id":"13","event":"agent_start"}
    {"type":"event_intercept","id":"14","event":"agent_end","error":"refused"}
    {"type":"event_intercept","id":"15","event":"turn_end","stop":"end"}
    {"type":"event_intercept","id":"16","event":"message_start","role":"assistant"}
    {"type":"event_intercept","id":"17","event":"tool_end","tool_id":"toolu_1","tool_name":"bash","duration_ms":12}
    {"type":"event_intercept","id":"11","event":"tool_result","tool_id":"t","tool_name":"bash","tool_args":{"command":"env"},"content":[{"type":"text","text":"KEY=abc"}],"details":{"exit_code":1},"is_error":true}
    {"type":"event_intercept","id":"15","event":"message_end","content":[{"type":"thinking","text":"hm"},{"type":"tool_call","id":"t","name":"bash","args":{"command":"ls"}}],"stop":"tool_use"}
    {"type":"event_intercept","id":"18","event":"before_provider_request","provider":"openai","model":"gpt","payload":{"model":"gpt","input":[],"temperature":1.0}}
    {"type":"event_intercept","id":"19","event":"user_bash","command":"ls","cwd":"/w","excluded":true}
    {"type":"event_intercept","id":"14","event":"context","messages":[{"role":"user","content":[{"type":"text","text":"list"}],"time":"2026-01-01T00:00:00Z"},{"role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"tool_call","id":"t","name":"bash","args":{"command":"ls"}}],"time":"2026-01-01T00:00:00Z"},{"role":"tool","call_id":"t","name":"bash","content":[{"type":"text","text":"a.txt"}],"is_error":false,"extension":"notes","details":{"exit_code":0},"time":"2026-01-01T00:00:00Z"}]}
    {"type":"event_intercept","id":"13","event":"before_settle","text":"Done.","continued":2}
    {"type":"event_intercept","id":"12","event":"input","text":"hi","source":"rpc"}
    {"type":"event_intercept","id":"12","event":"input","text":"","images":[{"mime_type":"image/png","data":"AAAA"}],"source":"print"}
    {"type":"state","seq":1,"session":"0199","provider":"anthropic","model":"claude","thinking":"high","busy":false,"queue":{"steering":["Not in src/"],"follow_up":[],"next_turn":[]},"context":{"tokens":1200,"estimated":200,"window":200000},"name":"","tags":{"team":"build"},"tools":[{"name":"bash","description":"Runs a command.","schema":{"type":"object"},"active":true}]}
    {"type":"state","seq":4,"session":"0199","busy":true}
    {"type":"entries","seq":1,"session":"0199","reset":true,"header":{"type":"session","id":"0199","parent":null,"cwd":"/srv/app"},"append":[{"type":"name","id":"77","parent":null,"time":"T","name":"bakery"}],"more":true}
    {"type":"entries","seq":3,"session":"0199","append":[],"leaf":"77"}
    {"type":"cancel","id":"3"}
    {"type":"host_result","id":"c1","content":[{"type":"text","text":"rain\n"}],"details":{"next_offset":2001}}
    {"type":"host_result","id":"c3","content":[],"value":{"value":"No","why":"answered"}}
    {"type":"host_result","id":"c1","content":[],"is_error":true,"code":"permission_denied","by":"haft","permission":"fs.write"}
    {"type":"panel_key","panel_id":"todos","key":"rune","text":"x"}
    {"type":"panel_resize","panel_id":"todos","width":80,"height":24}
    {"type":"panel_close","panel_id":"todos"}
    {"type":"ping","id":"8"}
    {"type":"shutdown"}
    "#);
}

#[test]
fn extension_frames_serialize_as_documented_lines() {
    assert_snapshot!(lines(&samples::extension()));
}
