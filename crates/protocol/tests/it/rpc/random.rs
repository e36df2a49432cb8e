//! Random lines.

use haft_protocol::rpc::{
    AuthToken, BOUNDS, ForkCommand, HelloCommand, PanelKeyCommand, PromptCommand, RpcRequest, RpcResponse,
    RunCommand, SetTools, UiAnswer, UiResponse, read_request,
};
use proptest::prelude::*;

use super::samples::{panel, todo};

fn request() -> impl Strategy<Value = RpcRequest> {
    let name = "[^\\p{Cc}]{0,12}";
    let command = prop_oneof![
        any::<String>().prop_map(|message| PromptCommand { message, images: Vec::new(), plain: None }.into()),
        any::<Option<String>>().prop_map(|token| HelloCommand {
            token: token.map(AuthToken),
            ..HelloCommand::default()
        }
        .into()),
        any::<Option<Vec<String>>>()
            .prop_map(|approve| HelloCommand { approve, ..HelloCommand::default() }.into()),
        any::<Option<Vec<String>>>().prop_map(|tools| SetTools { tools }.into()),
        any::<Option<String>>().prop_map(|entry| ForkCommand { entry }.into()),
        (name, any::<String>()).prop_map(|(name, args)| RunCommand { name, args }.into()),
        (name, any::<Option<String>>()).prop_map(|(key, text)| PanelKeyCommand {
            extension: todo(),
            panel_id: panel(),
            key,
            text
        }
        .into()),
        (name, any::<String>()).prop_map(|(request, value)| UiResponse {
            request,
            answer: UiAnswer::Value(value)
        }
        .into()),
    ];
    // An empty id means none.
    let text = || proptest::option::of(any::<String>().prop_filter("empty", |text| !text.is_empty()));
    (text(), command, text()).prop_map(|(id, command, session)| RpcRequest { id, command, session })
}

proptest! {
    #[test]
    fn written_lines_are_read_back(request in request()) {
        let line = request.encode().unwrap();
        prop_assert_eq!(line.matches('\n').count(), 1);
        prop_assert_eq!(read_request(line.trim_end_matches('\n').as_bytes(), BOUNDS), Ok(request));
    }

    #[test]
    fn every_line_is_read_or_answered(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(unread) = read_request(&line, BOUNDS) {
            let (reply, encoded) = (unread.clone().into_response(), unread.into_response().encode().unwrap());
            prop_assert_eq!(serde_json::from_str::<RpcResponse>(&encoded).unwrap(), reply);
        }
    }

    #[test]
    fn damaged_line_is_read_or_answered(request in request(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = request.encode().unwrap().into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        if let Ok(read) = read_request(&line, BOUNDS) {
            let again = read.encode().unwrap();
            prop_assert_eq!(read_request(again.as_bytes(), BOUNDS), Ok(read));
        }
    }
}
