//! Examples from wolli's document about extensions, each in Rust and in Python: both do the same in the program.

mod asking;
mod commands;
mod events;
mod hooks;
mod page;
mod sessions;
mod state;
mod toolset;

use std::fs;
use std::path::{Path, PathBuf};

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::rpc_client::Client;
use super::running::eventually;
use super::scene::{Scene, patient};

/// The language of an example.
#[derive(Clone, Copy, PartialEq)]
enum Language {
    Rust,
    Python,
    /// Python with the functions of the page in place of those of these tests.
    PythonOfPage,
}

/// Lists the examples: each with the lines at which its blocks begin in wolli's document about extensions, and the
/// check of what it does, which is a test for each language.
macro_rules! examples {
    ($($(#[$cfg:meta])? $name:ident $lines:tt: $file:ident::$check:ident;)*) => {
        /// The examples, and the lines of their blocks.
        const EXAMPLES: &[(&str, &[u32])] = &[$((stringify!($name), &$lines)),*];

        $($(#[$cfg])? mod $name {
            use super::Language;

            #[test]
            fn works_in_python() {
                super::$file::$check(Language::Python);
            }

            #[test]
            fn works_in_rust() {
                super::$file::$check(Language::Rust);
            }
        })*
    };
}

examples! {
    abort_signal [795]: hooks::abort_ends_the_work_of_a_hook;
    active_tools [874, 1033]: toolset::command_leaves_two_tools;
    agent_prompt [369, 863]: hooks::prompt_has_a_section_and_a_message;
    append_entry [949]: state::count_survives_a_restart;
    compact_command [842]: commands::command_compacts_with_instructions;
    compaction [333]: hooks::compaction_is_canceled_or_replaced;
    completion [1290]: commands::arguments_are_completed;
    context_filter [492]: hooks::older_drafts_are_left_out;
    context_usage [831]: commands::command_shows_the_tokens;
    custom_bash [1640, 1659]: toolset::replacement_of_bash_sets_a_variable;
    custom_message [887, 896, 1440, 2181]: state::notes_are_restored;
    dialogs [1869]: asking::four_questions_are_answered;
    dismissed_dialog [1914]: asking::question_is_withdrawn;
    entry_labels [979]: state::label_is_set_and_removed;
    event_bus [1397]: commands::extensions_exchange_messages;
    file_queue [1476]: toolset::changes_wait_for_the_file;
    final_answer [1500]: toolset::tool_ends_the_run;
    find_sessions [1359, 2251]: sessions::chat_keeps_its_session;
    input_filter [701]: hooks::input_is_changed_or_handled;
    list_commands [1008, 1016]: commands::commands_of_extensions_are_listed;
    long_output [1681]: toolset::long_result_is_cut;
    message_end [436]: hooks::answer_hides_the_key;
    model_select [525]: events::change_of_the_model_is_noted;
    new_session [1085, 1181]: sessions::work_continues_in_a_new_session;
    old_arguments [1583]: toolset::old_arguments_are_converted;
    permission_gate [2278]: asking::gate_blocks_without_a_person;
    provider_request [506]: hooks::request_has_another_temperature;
    quick_start [60, 145]: commands::first_extension_does_four_things;
    register_tool [1233, 1500, 1567]: toolset::tool_has_all_its_properties;
    reload_runtime [1115, 1139]: sessions::tool_reloads_the_extensions;
    run_events [406, 418]: events::run_and_turns_are_noted;
    screen [1937]: asking::screen_is_changed_and_restored;
    session_name [966]: state::session_gets_a_name;
    session_start [318]: events::start_names_the_file;
    session_stats [769, 1278]: state::statistics_equal_those_of_a_client;
    session_tags [996]: state::session_gets_a_tag;
    set_model [1062]: commands::command_selects_a_model;
    several_tools [355, 1726]: toolset::tools_share_a_connection;
    shutdown [1377]: sessions::fatal_call_ends_the_program;
    startup_work [174]: commands::file_names_the_commands;
    stream_events [436]: events::length_of_the_answer_is_noted;
    thinking_level [546, 1076]: events::thinking_level_is_in_the_status_line;
    timed_dialog [1890]: asking::question_ends_in_time;
    tool_call [575]: hooks::calls_are_changed_blocked_and_observed;
    tool_events [474]: events::tools_are_noted;
    tool_result [635]: hooks::result_is_shortened;
    tool_state [1406, 2301]: state::todos_are_rebuilt_from_results;
    typed_input [604, 611]: toolset::gate_reads_the_arguments_of_its_tool;
    #[cfg(unix)] user_bash [663]: hooks::command_of_the_person_runs_with_a_profile;
    user_message [923]: sessions::extension_talks_to_the_model;
    wait_idle [818]: commands::command_waits_for_the_end_of_the_run;
}

/// Returns the directory with the examples in Python.
fn python_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wolli")
}

/// Returns the directory with the examples in Rust.
fn rust_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/wolli/src")
}

impl Language {
    /// Returns a scene with an example, and a model that plays these answers.
    fn scene(self, example: &str, answers: Vec<Scenario>) -> Scene {
        self.scene_with(example, &json!({}), answers)
    }

    /// Returns such a scene with further keys in the manifest of the example.
    fn scene_with(self, example: &str, more: &Value, answers: Vec<Scenario>) -> Scene {
        let scene = Scene::new(answers);
        let manifest = |exec: Value, arg: &str| {
            let mut manifest = json!({"name": example, "version": "1.0.0", "exec": exec, "args": [arg]});
            for keys in [&patient(), more] {
                manifest.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
            }
            manifest.to_string()
        };
        match self {
            Self::Rust => {
                let program = json!(haft_test_support::wolli_examples());
                let dir = scene.world.extension(example, &manifest(program, example));
                scene.with(dir)
            }
            Self::Python => {
                let (hello, body) = read_python(example);
                scene.custom_python(example, more, &hello, &body)
            }
            Self::PythonOfPage => {
                let (hello, body) = read_python(example);
                let dir = scene.world.extension(example, &manifest(json!("python3"), "main.py"));
                let head = format!("NAME = {example:?}\nHELLO = {hello}\n{}", page::python_helpers());
                fs::write(dir.join("main.py"), head + &body).unwrap();
                scene.with(dir)
            }
        }
    }
}

/// Returns the further fields of `hello` of an example in Python, and its program.
fn read_python(example: &str) -> (Value, String) {
    let body = fs::read_to_string(python_dir().join(format!("{example}.py"))).unwrap();
    let hello = body.lines().find_map(|line| line.strip_prefix("# hello: ")).unwrap_or("{}");
    (serde_json::from_str(hello).unwrap(), body)
}

/// Starts `haft rpc` for a client that answers questions, and waits until all extensions are ready.
fn connect(scene: &Scene, flags: &[&str]) -> Client {
    let mut client = Client::of(scene, flags);
    client.done("hello", &json!({"ui": true}));
    let are_ready = eventually(|| {
        let told = client.done("list_extensions", &json!({}));
        told["extensions"].as_array().unwrap().iter().all(|extension| extension["state"] == "ready")
    });
    assert!(are_ready, "{}", client.done("list_extensions", &json!({})));
    client
}

/// Runs a command of an extension.
fn invoke(client: &mut Client, name: &str, args: &str) {
    client.done("run_command", &json!({"name": name, "args": args}));
}

/// Runs a command of an extension, and returns the text that it shows.
fn invoke_shown(client: &mut Client, name: &str, args: &str) -> String {
    invoke(client, name, args);
    client.event("ext_display")["text"].as_str().unwrap().to_owned()
}

/// Expects the next notes to be these.
#[track_caller]
fn expect_notes(client: &mut Client, notes: &[&str]) {
    for note in notes {
        assert_eq!(client.event("ext_notify")["message"], *note);
    }
}
