//! Translates the lines of one process of a hook.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::codec::{LineLimits, PlainSpan};
use haft_protocol::ext::{
    CancelRequest, EventIntercept, ExtensionFrame, Hello, HostFrame, Intercept, InterceptHook, Ready,
    Subscribe, capability,
};
use haft_protocol::foreign::{BadAnswer, ForeignAnswer, LineTranslator, TranslatedPart};
use haft_protocol::ids::RequestId;

use super::HookPeer;
use crate::translate::{TranslateToolNames, translate_question};
use crate::wire::{
    CallLine, HookHello, HookQuestion, HookReply, InterceptPoint, ParsedDecision, UnreadableLine, read_reply,
};

/// The number of the first call, `hook.hello`.
const HELLO: u64 = 1;

/// The form of every reply, for messages.
const SHAPE: &str = r#"a reply is {"jsonrpc":"2.0","id":7,"result":{…}} with the id of the request"#;

/// The maximum length of the beginning of a line in a message.
const MAX_EXCERPT: usize = 80;

/// The translator of one process of a hook.
#[derive(Debug)]
pub(super) struct HookTranslator {
    peer: Arc<HookPeer>,
    /// The open calls, with the questions that their replies refer to.
    open: HashMap<u64, Box<dyn OpenQuestion>>,
    is_greeted: bool,
}

/// A native hook that one of PicoClaw's calls asks about.
pub(super) trait NativeHook: InterceptHook + fmt::Debug + Send + 'static {
    /// The params of the call.
    type Question: TranslateToolNames + Clone + fmt::Debug + Send;

    /// Returns the params of the call.
    fn to_question(&self, peer: &HookPeer) -> Self::Question;

    /// Returns the native decision. Mistakes beside a valid decision are added to the reports.
    ///
    /// # Errors
    /// The mistake because of which the reply is no decision.
    fn to_decision(
        &self,
        decision: <Self::Question as HookQuestion>::Decision,
        peer: &HookPeer,
        reports: &mut Vec<String>,
    ) -> Result<Self::Decision, String>;
}

/// A question that waits for its reply.
trait OpenQuestion: fmt::Debug + Send {
    fn read_result(&self, id: RequestId, result: &RawJson, peer: &HookPeer) -> ForeignAnswer;
}

#[derive(Debug)]
struct AskedQuestion<H: NativeHook> {
    native: H,
    question: H::Question,
}

impl<H: NativeHook> OpenQuestion for AskedQuestion<H> {
    fn read_result(&self, id: RequestId, result: &RawJson, peer: &HookPeer) -> ForeignAnswer {
        let names = peer.dialect.tool_names;
        let invalid = |detail, reports, notes| ForeignAnswer {
            id: id.clone(),
            outcome: Err(BadAnswer::Invalid(detail)),
            reports,
            notes,
        };
        let ParsedDecision { decision, mut reports, notes } =
            match translate_question(names, &self.question).decide(result) {
                Ok(parsed) => parsed,
                Err(malformed) => return invalid(malformed.to_string(), Vec::new(), Vec::new()),
            };
        let decision = self.question.restore_names(decision, names);
        match self.native.to_decision(decision, peer, &mut reports) {
            Ok(decision) => {
                let response = Box::new(H::respond(decision, id.clone()));
                ForeignAnswer { id, outcome: Ok(response), reports, notes }
            }
            Err(detail) => invalid(detail, reports, notes),
        }
    }
}

impl HookTranslator {
    pub(super) fn new(peer: Arc<HookPeer>) -> Self {
        Self { peer, open: HashMap::new(), is_greeted: false }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "PicoClaw has no calls for the other hooks")]
    fn ask_hook(&mut self, id: &RequestId, intercept: Intercept) -> Result<String, String> {
        match intercept {
            Intercept::Context(native) => self.open_question(id, native),
            Intercept::MessageEnd(native) => self.open_question(id, native),
            Intercept::ToolCall(native) => self.open_question(id, native),
            Intercept::ToolResult(native) => self.open_question(id, native),
            Intercept::Approve(native) => self.open_question(id, native),
            other => Err(format!("a process hook has no call for {}", other.kind().name())),
        }
    }

    fn open_question<H: NativeHook>(&mut self, id: &RequestId, native: H) -> Result<String, String> {
        let number = read_number(id).ok_or_else(|| "the id of the call is not a number".to_owned())?;
        let question = native.to_question(&self.peer);
        let line =
            CallLine::encode_question(number, &*translate_question(self.peer.dialect.tool_names, &question));
        self.open.insert(number, Box::new(AskedQuestion { native, question }));
        line.map_err(no_json_form)
    }

    fn on_reply(&mut self, number: u64, outcome: Result<RawJson, String>) -> Vec<TranslatedPart> {
        if number == HELLO && !self.is_greeted {
            return self.on_hello_reply(outcome);
        }
        let id = RequestId::new(number.to_string());
        let Some(open) = self.open.remove(&number) else { return vec![TranslatedPart::Stray(id)] };
        let answer = match outcome {
            Ok(result) => open.read_result(id, &result, &self.peer),
            Err(detail) => ForeignAnswer {
                id,
                outcome: Err(BadAnswer::Failed(detail)),
                reports: Vec::new(),
                notes: Vec::new(),
            },
        };
        vec![TranslatedPart::Answer(Box::new(answer))]
    }

    /// Handles the reply to the hello; the content of the reply is ignored.
    fn on_hello_reply(&mut self, outcome: Result<RawJson, String>) -> Vec<TranslatedPart> {
        let refused = match outcome {
            Ok(result) if result.is_object() => None,
            Ok(_) => Some(r#"the result is not an object; expected {"ok":true}"#.to_owned()),
            Err(detail) => Some(detail),
        };
        if let Some(detail) = refused {
            return vec![TranslatedPart::Refusal(format!("failed hook.hello: {detail}"))];
        }
        self.is_greeted = true;
        let hello = Hello {
            name: self.peer.name().to_string(),
            version: String::new(),
            capabilities: [capability::HOOKS_2, capability::CANCEL].map(str::to_owned).to_vec(),
            protocol_version: None,
            mirror: Vec::new(),
        };
        let points = InterceptPoint::ALL.iter().filter(|point| self.peer.dialect.watch.is_asked_at(**point));
        let intercept = points.map(|point| point.hook().name().into()).collect();
        let subscribe = Subscribe { replace: false, events: Vec::new(), intercept };
        let frames = [
            ExtensionFrame::Hello(hello),
            ExtensionFrame::Subscribe(subscribe),
            ExtensionFrame::Ready(Ready {}),
        ];
        frames.map(|frame| TranslatedPart::Frame(Box::new(frame))).into()
    }

    fn on_unreadable(&mut self, unread: UnreadableLine, line: &[u8]) -> Vec<TranslatedPart> {
        let UnreadableLine { id, detail, .. } = &unread;
        if let Some(number) = *id {
            return self.on_reply(number, Err(format!("the reply cannot be read: {detail}; {SHAPE}")));
        }
        let (excerpt, is_mistake) = (line_start(line), unread.resembles_reply());
        let text = match is_mistake {
            true => format!(
                "sent a line that answers no request and is skipped: {detail} in {excerpt:?}; {SHAPE}"
            ),
            false => format!("skipped: {detail} in {excerpt:?}"),
        };
        vec![TranslatedPart::Skipped { text, is_mistake }]
    }
}

impl LineTranslator for HookTranslator {
    fn opening_line(&self) -> Result<String, String> {
        let hello = HookHello {
            config: self.peer.setup.config.clone(),
            ..HookHello::new(self.peer.name().as_str(), self.peer.dialect.watch.modes())
        };
        CallLine::request(HELLO, hello).encode().map_err(no_json_form)
    }

    fn silence_text(&self) -> &'static str {
        "did not answer hook.hello"
    }

    fn translate_frame(&mut self, frame: HostFrame) -> Result<Option<String>, String> {
        if let HostFrame::EventIntercept(EventIntercept { id, intercept }) = frame {
            return self.ask_hook(&id, intercept).map(Some);
        }
        if let HostFrame::Cancel(CancelRequest { id }) = &frame {
            read_number(id).and_then(|number| self.open.remove(&number));
        }
        Ok(None)
    }

    fn translate_line(&mut self, line: &[u8], bounds: LineLimits, known: PlainSpan) -> Vec<TranslatedPart> {
        match read_reply(line, bounds, known) {
            Ok(HookReply { id, outcome, repaired: is_repaired }) => {
                let outcome = outcome.map_err(|error| format!("the hook reported an error: {error}"));
                let mut translated = self.on_reply(id, outcome);
                if is_repaired {
                    let text = format!("replaced an unpaired surrogate in reply {id} with U+FFFD");
                    translated.insert(0, TranslatedPart::Log(text));
                }
                translated
            }
            Err(unread) => self.on_unreadable(unread, line),
        }
    }
}

fn read_number(id: &RequestId) -> Option<u64> {
    id.as_str().parse().ok()
}

/// Returns the beginning of a line, for messages.
fn line_start(line: &[u8]) -> String {
    let start = line.get(..MAX_EXCERPT).unwrap_or(line);
    let more = if line.len() > MAX_EXCERPT { "…" } else { "" };
    format!("{}{more}", String::from_utf8_lossy(start))
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn no_json_form(error: serde_json::Error) -> String {
    format!("the message cannot be encoded as JSON: {error}")
}

#[cfg(test)]
mod tests {
    use haft_protocol::ext::{
        ContextDecision, InterceptApprove, InterceptContext, InterceptKind, InterceptToolCall,
        InterceptTurnStart, ToolCallDecision,
    };
    use haft_protocol::ids::ToolCallId;

    use super::super::tests::peer_at;
    use super::*;
    use crate::translate::ToolNames;
    use crate::wire::BOUNDS;

    const ALL: &[&str] = &["before_llm", "before_tool", "approve_tool"];

    fn translator(names: ToolNames) -> HookTranslator {
        HookTranslator::new(peer_at(ALL, names))
    }

    fn send(
        translator: &mut HookTranslator,
        number: u64,
        intercept: impl Into<Intercept>,
    ) -> Result<String, String> {
        let frame = EventIntercept { id: RequestId::new(number.to_string()), intercept: intercept.into() };
        translator.translate_frame(HostFrame::EventIntercept(frame)).map(Option::unwrap_or_default)
    }

    fn receive(translator: &mut HookTranslator, line: &str) -> Vec<TranslatedPart> {
        translator.translate_line(line.as_bytes(), BOUNDS, PlainSpan::default())
    }

    /// Receives the only answer.
    fn answer(translator: &mut HookTranslator, line: &str) -> ForeignAnswer {
        let Some(TranslatedPart::Answer(answer)) = receive(translator, line).pop() else { panic!("{line}") };
        *answer
    }

    fn bash_call() -> InterceptToolCall {
        let args = RawJson::parse(r#"{"command":"ls"}"#).unwrap();
        InterceptToolCall {
            tool_id: ToolCallId::new("t1"),
            tool_name: "bash".into(),
            tool_args: args,
            caller: None,
            resolved_paths: Vec::new(),
        }
    }

    #[test]
    fn reply_to_hello_becomes_the_native_start() {
        let mut hook = translator(ToolNames::Haft);
        let opening = hook.opening_line().unwrap();
        assert_eq!(
            opening,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hook.hello\",\"params\":{\"name\":\"gate\",\"version\":1,\"modes\":[\"observe\",\"llm\",\"tool\",\"approve\"]}}\n"
        );
        let frames = receive(&mut hook, r#"{"id":1,"result":{"ok":false}}"#);
        let lines = frames.into_iter().map(|part| {
            let TranslatedPart::Frame(frame) = part else { panic!("{part:?}") };
            haft_protocol::codec::encode(&*frame).unwrap()
        });
        insta::assert_snapshot!(lines.collect::<String>().trim_end(), @r#"
        {"type":"hello","name":"gate","version":"","capabilities":["hooks_2","cancel"]}
        {"type":"subscribe","intercept":["context","message_end","tool_call","tool_result","approve"]}
        {"type":"ready"}
        "#);
        let again = receive(&mut hook, r#"{"id":1,"result":{}}"#);
        assert!(matches!(&again[..], [TranslatedPart::Stray(id)] if id.as_str() == "1"), "{again:?}");
    }

    #[test]
    fn decisions_have_native_names_of_tools() {
        let mut hook = translator(ToolNames::PicoClaw);
        let line = send(&mut hook, 2, bash_call()).unwrap();
        assert!(line.contains(r#""tool":"exec","arguments":{"command":"ls"}"#), "{line}");
        let reply = r#"{"id":2,"result":{"action":"modify","call":{"tool":"list_dir","arguments":{}}}}"#;
        let ForeignAnswer { id, outcome, reports, .. } = answer(&mut hook, reply);
        assert_eq!((id.as_str(), reports), ("2", vec![]));
        let args = Some(RawJson::empty_object());
        assert_eq!(
            InterceptToolCall::read(*outcome.unwrap()),
            Ok(ToolCallDecision::Redirect { tool: "ls".into(), args })
        );
    }

    #[test]
    fn mistake_beside_an_answer_is_a_report_and_a_wrong_answer_a_failure() {
        let mut hook = translator(ToolNames::Haft);
        let InterceptToolCall { tool_id, tool_name, tool_args, caller, resolved_paths } = bash_call();
        send(&mut hook, 2, InterceptApprove { tool_id, tool_name, tool_args, caller, resolved_paths })
            .unwrap();
        send(&mut hook, 3, bash_call()).unwrap();
        send(&mut hook, 4, bash_call()).unwrap();
        let denied = answer(&mut hook, r#"{"id":2,"result":{}}"#);
        assert!(denied.outcome.unwrap().is_blocking() && denied.reports.len() == 1);
        let wrong = answer(&mut hook, r#"{"id":3,"result":{"action":"deny"}}"#).outcome.unwrap_err();
        assert!(matches!(&wrong, BadAnswer::Invalid(why) if why.contains("unknown action")), "{wrong:?}");
        let failed = answer(&mut hook, r#"{"id":4,"error":{"message":"no disk"}}"#).outcome.unwrap_err();
        assert_eq!(failed, BadAnswer::Failed("the hook reported an error: no disk".into()));
    }

    #[test]
    fn cancelled_question_has_no_answer_any_more() {
        let mut hook = translator(ToolNames::Haft);
        send(&mut hook, 2, bash_call()).unwrap();
        let cancel = HostFrame::Cancel(CancelRequest { id: RequestId::new("2") });
        assert_eq!(hook.translate_frame(cancel), Ok(None));
        let late = receive(&mut hook, r#"{"id":2,"result":{"action":"continue"}}"#);
        assert!(matches!(&late[..], [TranslatedPart::Stray(_)]), "{late:?}");
        assert_eq!(
            send(&mut hook, 3, InterceptTurnStart { step: 1 }),
            Err("a process hook has no call for turn_start".into())
        );
    }

    #[test]
    fn duration_of_a_result_is_that_of_its_events() {
        use std::time::{Duration, Instant};

        use haft_protocol::event::AgentEvent;
        use haft_protocol::ext::InterceptToolResult;
        use haft_protocol::foreign::ForeignPeer as _;

        let peer = peer_at(ALL, ToolNames::Haft);
        let mut hook = HookTranslator::new(Arc::clone(&peer));
        let InterceptToolCall { tool_id: id, tool_name: name, tool_args: args, .. } = bash_call();
        let (start, took) = (Instant::now(), Duration::from_micros(15));
        for (event, after) in [
            (AgentEvent::TurnStart { step: 1 }, Duration::ZERO),
            (AgentEvent::ToolCall { id: id.clone(), name: name.clone(), args: args.clone() }, Duration::ZERO),
            (AgentEvent::ToolStart { id: id.clone(), name: name.clone(), args, label: None }, Duration::ZERO),
            (AgentEvent::ToolEnd { id: id.clone(), name, duration_ms: 0 }, took),
        ] {
            peer.translate_event(&event, start + after);
        }
        let mut ask = |number, tool_id| {
            let InterceptToolCall { tool_name, tool_args, .. } = bash_call();
            let native = InterceptToolResult {
                tool_id,
                tool_name,
                tool_args,
                content: Vec::new(),
                details: None,
                is_error: false,
                display: None,
                handled: false,
                duration_ms: 2,
            };
            send(&mut hook, number, native).unwrap()
        };
        let line = ask(2, id);
        assert!(line.contains(r#""duration":15000,"#), "{line}");
        let line = ask(3, ToolCallId::new("other"));
        assert!(line.contains(r#""duration":2000000,"#), "{line}");
    }

    #[test]
    fn every_label_names_a_point() {
        use haft_protocol::foreign::ForeignPeer as _;
        let peer = peer_at(ALL, ToolNames::Haft);
        for point in InterceptPoint::ALL {
            assert_eq!(peer.hook_label(point.hook()), format!("{} hook", point.name()));
        }
        assert_eq!(peer.hook_label(InterceptKind::TurnStart), "hook");
    }

    #[test]
    fn invalid_parts_of_a_request_are_reported_and_the_others_apply() {
        let mut hook = translator(ToolNames::Haft);
        let native = InterceptContext {
            model: "demo".into(),
            system: "be brief".into(),
            ..InterceptContext::default()
        };
        send(&mut hook, 2, native).unwrap();
        let request = r#"{"messages":[{"role":"developer","content":"x"}],"model":"other","options":{"thinking_level":"much"}}"#;
        let reply = format!(r#"{{"id":2,"result":{{"action":"modify","request":{request}}}}}"#);
        let ForeignAnswer { outcome, reports, .. } = answer(&mut hook, &reply);
        let Ok(ContextDecision::Change(change)) = InterceptContext::read(*outcome.unwrap()) else { panic!() };
        assert_eq!((change.model.as_deref(), change.messages, change.thinking), (Some("other"), None, None));
        assert!(reports[0].ends_with("; the messages were not changed"), "{reports:?}");
        assert!(reports[1].starts_with("thinking_level: "), "{reports:?}");
    }
}
