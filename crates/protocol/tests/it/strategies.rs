//! Arbitrary frames.

use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image, InputSource, ResolvedPath, ToolCall};
use haft_protocol::event::{CompactReason, NoteLevel};
use haft_protocol::ext::*;
use haft_protocol::ids::{ExtensionName, PanelId, RequestId, ToolCallId};
use haft_protocol::message::{
    AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause, TokenUsage, ToolMessage,
};
use haft_protocol::thinking::ThinkingLevel;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Any text, including line ends of some languages only.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => any::<String>(), 1 => "[a\u{85}\u{2028}\u{2029}\r\n\"\\\\]{0,8}"]
}

/// Names and ids without control characters.
fn name() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.chars().filter(|char| !char.is_control()).collect())
}

fn id() -> impl Strategy<Value = RequestId> {
    name().prop_map(RequestId::new)
}

fn panel_id() -> impl Strategy<Value = PanelId> {
    name().prop_map(PanelId::new)
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..4)
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no NaN", |number| number.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![vec(inner.clone(), 0..6).prop_map(Value::from), object_of(inner).prop_map(Value::Object)]
    })
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value), 0..6).prop_map(|members| members.into_iter().collect())
}

fn object() -> impl Strategy<Value = RawJson> {
    object_of(value()).prop_map(|object| RawJson::from_value(&object).unwrap())
}

fn json_array() -> impl Strategy<Value = RawJson> {
    vec(value(), 0..3).prop_map(|array| RawJson::from_value(&array).unwrap())
}

fn raw() -> impl Strategy<Value = RawJson> {
    value().prop_map(|value| RawJson::from_value(&value).unwrap())
}

fn stop() -> impl Strategy<Value = StopCause> {
    prop::sample::select(vec![
        StopCause::End,
        StopCause::ToolUse,
        StopCause::Length,
        StopCause::Error,
        StopCause::Aborted,
    ])
}

fn level() -> impl Strategy<Value = NoteLevel> {
    prop::sample::select(vec![NoteLevel::Success, NoteLevel::Warn, NoteLevel::Error, NoteLevel::Info])
}

pub(crate) fn host_frame() -> impl Strategy<Value = HostFrame> {
    prop_oneof![
        hello_ack(),
        (id(), name(), text()).prop_map(|(id, name, args)| CommandInvoked { id, name, args }.into()),
        (id(), name(), object(), option::of(name())).prop_map(|(id, call, args, session)| ExtensionCall {
            id,
            call,
            args,
            session
        }
        .into()),
        (id(), name(), text()).prop_map(|(id, name, prefix)| CommandCompletions { id, name, prefix }.into()),
        (id(), name(), object(), option::of(name())).prop_map(|(id, name, args, tool_id)| {
            ToolCallFrame { id, name, args, tool_id: tool_id.map(ToolCallId::new) }.into()
        }),
        event(),
        (id(), intercept()).prop_map(|(id, intercept)| EventIntercept { id, intercept }.into()),
        (panel_id(), text(), option::of(text())).prop_map(|(panel_id, key, text)| PanelKey {
            panel_id,
            key,
            text
        }
        .into()),
        (panel_id(), any::<u32>(), any::<u32>()).prop_map(|(panel_id, width, height)| PanelResize {
            panel_id,
            width,
            height
        }
        .into()),
        panel_id().prop_map(|panel_id| PanelClose { panel_id }.into()),
        id().prop_map(|id| Ping { id }.into()),
        id().prop_map(|id| CancelRequest { id }.into()),
        id().prop_map(|id| ToolCancel { id }.into()),
        (id(), name(), vec(block(), 0..3), any::<bool>()).prop_map(|(id, name, content, is_error)| {
            ToolRequestResult { id, name, content, is_error }.into()
        }),
        (text(), text(), text(), text()).prop_map(|(what, name, permission, reason)| {
            RegisterRejected { what, name, permission, reason }.into()
        }),
        any::<u64>().prop_map(|lost| EventGap { lost }.into()),
        host_result(),
        (any::<u64>(), text(), option::of(any::<bool>()), option::of(text())).prop_map(
            |(seq, session, busy, name)| {
                StateFrame { seq, session, busy, name, ..StateFrame::default() }.into()
            }
        ),
        (any::<u64>(), text(), any::<bool>(), vec(object(), 0..3), option::of(text())).prop_map(
            |(seq, session, reset, append, leaf)| {
                EntriesFrame { seq, session, reset, append, leaf, ..EntriesFrame::default() }.into()
            }
        ),
        (id(), object()).prop_map(|(id, value)| HostCallProgress { id, value }.into()),
        Just(Shutdown {}.into()),
    ]
}

fn host_result() -> impl Strategy<Value = HostFrame> {
    let codes = [HostCallError::Blocked, HostCallError::Stale, HostCallError::Failed];
    let optional = (option::of(prop::sample::select(codes.to_vec())), option::of(text()), option::of(text()));
    let objects = (option::of(object()), option::of(object()));
    (id(), vec(block(), 0..4), any::<bool>(), optional, objects).prop_map(
        |(id, content, is_error, (code, by, permission), (details, value))| {
            HostResult { id, content, is_error, code, by, permission, details, value }.into()
        },
    )
}

fn hello_ack() -> impl Strategy<Value = HostFrame> {
    let words = (text(), text(), text(), text());
    let options = (option::of(text()), option::of(text()), option::of(text()), option::of(text()));
    let config = option::of(object().prop_map(|object| ExtensionConfig::new(object).unwrap()));
    let mode = option::of(prop::sample::select(HostMode::ALL));
    (any::<u32>(), words, options, texts(), (any::<bool>(), config, option::of(object()), mode)).prop_map(
        |(
            protocol_version,
            (zot_version, provider, model, cwd),
            options,
            capabilities,
            (limits, config, granted, mode),
        )| {
            let (haft_version, extension_dir, data_dir, sandbox) = options;
            let limits = limits.then(Box::<Limits>::default);
            let ack = HelloAck {
                protocol_version,
                zot_version,
                haft_version,
                provider,
                model,
                cwd,
                extension_dir,
                data_dir,
                capabilities,
                limits,
                mode,
                config,
                sandbox,
                granted,
            };
            ack.into()
        },
    )
}

fn event() -> impl Strategy<Value = HostFrame> {
    prop_oneof![
        Just(LifecycleEvent::session_start()),
        (text(), option::of(text())).prop_map(|(id, path)| LifecycleEvent::session_start_of(id, path)),
        any::<u32>().prop_map(LifecycleEvent::turn_start),
        (stop(), option::of(text())).prop_map(|(stop, error)| LifecycleEvent::turn_end(stop, error)),
        (name(), name(), object()).prop_map(|(id, name, args)| LifecycleEvent::tool_call(
            ToolCallId::new(id),
            name,
            args
        )),
        text().prop_map(LifecycleEvent::assistant_message),
        Just(LifecycleEvent::compaction_start(CompactReason::Threshold)),
        (option::of(text()), option::of(text()))
            .prop_map(|(text, error)| LifecycleEvent::compaction_end(text, error)),
    ]
    .prop_map(HostFrame::from)
}

fn resolved_path() -> impl Strategy<Value = ResolvedPath> {
    (text(), text(), any::<bool>(), any::<bool>()).prop_map(|(argument, path, exists, link)| {
        ResolvedPath::new(argument, path).with_exists(exists).with_link(link)
    })
}

fn intercept() -> impl Strategy<Value = Intercept> {
    prop_oneof![
        (name(), name(), object(), option::of(name()), vec(resolved_path(), 0..3)).prop_map(
            |(id, tool_name, tool_args, caller, resolved_paths)| {
                let (tool_id, caller) = (ToolCallId::new(id), caller.map(ExtensionName::new));
                InterceptToolCall { tool_id, tool_name, tool_args, caller, resolved_paths }.into()
            }
        ),
        (name(), name(), object(), vec(resolved_path(), 0..3)).prop_map(
            |(id, tool_name, tool_args, resolved_paths)| {
                let tool_id = ToolCallId::new(id);
                InterceptApprove { tool_id, tool_name, tool_args, caller: None, resolved_paths }.into()
            }
        ),
        any::<u32>().prop_map(|step| InterceptTurnStart { step }.into()),
        text().prop_map(|text| InterceptAssistantMessage { text }.into()),
        (text(), text()).prop_map(|(prompt, system_prompt)| {
            InterceptBeforeAgentStart { prompt, system_prompt }.into()
        }),
        before_compact().prop_map(Intercept::from),
        intercepted_result().prop_map(Intercept::from),
        finished_answer().prop_map(Intercept::from),
        (name(), name(), object()).prop_map(|(provider, model, payload)| {
            InterceptBeforeProviderRequest { provider, model, payload }.into()
        }),
        (text(), text(), any::<bool>())
            .prop_map(|(command, cwd, excluded)| { InterceptUserBash { command, cwd, excluded }.into() }),
        session_change(),
        (text(), text(), texts()).prop_map(|(cwd, digest, items)| InterceptProjectTrust {
            cwd,
            digest,
            items
        }
        .into()),
        (text(), any::<bool>()).prop_map(|(cwd, reloads)| {
            let reason = if reloads { ResourcesReason::Reload } else { ResourcesReason::Startup };
            InterceptResources { cwd, reason }.into()
        }),
        outgoing_request().prop_map(Intercept::from),
        (text(), any::<u32>()).prop_map(|(text, continued)| InterceptBeforeSettle { text, continued }.into()),
        (text(), vec(png_image(), 0..3)).prop_map(|(text, images)| {
            InterceptInput { text, images, source: InputSource::Extension }.into()
        }),
    ]
}

fn outgoing_request() -> impl Strategy<Value = InterceptContext> {
    let tool = (name(), text(), object()).prop_map(|(name, description, schema)| RequestTool {
        name,
        description,
        schema,
    });
    let choice = prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        name().prop_map(ToolChoice::Tool),
    ];
    let sampling = (option::of(0.0..2.0), option::of(0.0..1.0));
    let options = (option::of(any::<u64>()), sampling, vec(text(), 0..3), option::of(choice));
    let model = (name(), name(), prop::sample::select(ThinkingLevel::ALL), options);
    let content = (text(), vec(tool, 0..3), vec(any_message(), 0..3));
    (any::<u32>(), any::<bool>(), model, content).prop_map(
        |(step, last, (provider, model, thinking, options), (system, tools, messages))| {
            let (max_tokens, (temperature, top_p), stop, tool_choice) = options;
            let options = RequestOptions::default()
                .with_max_tokens(max_tokens)
                .with_temperature(temperature)
                .with_top_p(top_p)
                .with_stop(stop)
                .with_tool_choice(tool_choice);
            InterceptContext { step, provider, model, thinking, options, last, system, tools, messages }
        },
    )
}

fn intercepted_result() -> impl Strategy<Value = InterceptToolResult> {
    let result = (vec(block(), 0..3), option::of(object()), any::<bool>());
    let delivery = (option::of(text()), any::<bool>(), any::<u64>());
    (name(), name(), object(), result, delivery).prop_map(|(id, tool_name, tool_args, result, delivery)| {
        let (content, details, is_error) = result;
        let (display, handled, duration_ms) = delivery;
        InterceptToolResult {
            tool_id: ToolCallId::new(id),
            tool_name,
            tool_args,
            content,
            details,
            is_error,
            display,
            handled,
            duration_ms,
        }
    })
}

fn finished_answer() -> impl Strategy<Value = InterceptMessageEnd> {
    let model = (any::<u32>(), name(), name());
    (model, vec(assistant_block(), 0..3), stop(), any::<u64>(), 0.0..9.0).prop_map(
        |((step, provider, model), content, stop, input, cost_usd)| {
            let usage = TokenUsage::default().with_input(input).with_cost_usd(cost_usd);
            InterceptMessageEnd { step, provider, model, content, stop, usage }
        },
    )
}

fn session_change() -> impl Strategy<Value = Intercept> {
    let caller = || option::of(name().prop_map(ExtensionName::new));
    let reason = prop_oneof![Just(SwitchReason::New), Just(SwitchReason::Resume)];
    let switch = (reason, option::of(text()), caller())
        .prop_map(|(reason, session, caller)| InterceptBeforeSwitch { reason, session, caller }.into());
    let fork = (option::of(text()), caller())
        .prop_map(|(entry, caller)| InterceptBeforeFork { entry, caller }.into());
    let tree = (option::of(text()), option::of(text()), any::<bool>(), option::of(text()), caller());
    let tree = (tree, vec(compact_entry(), 0..3)).prop_map(
        |((entry, leaf, summarize, instructions, caller), entries)| {
            InterceptBeforeTree { entry, leaf, summarize, instructions, caller, entries }.into()
        },
    );
    prop_oneof![switch, fork, tree]
}

fn compact_entry() -> impl Strategy<Value = CompactEntry> {
    let entry = (text(), text(), any::<bool>());
    entry.prop_map(|(id, text, may_begin)| CompactEntry { id, text, may_begin })
}

fn before_compact() -> impl Strategy<Value = InterceptBeforeCompact> {
    let optional = || (option::of(text()), option::of(text()), option::of(text()));
    let counts = (any::<u64>(), option::of(any::<u64>()));
    (optional(), texts(), texts(), counts, vec(compact_entry(), 0..3)).prop_map(
        |(optional, read, modified, counts, entries)| {
            let (instructions, previous_summary, first_kept) = optional;
            let (tokens_before, window) = counts;
            InterceptBeforeCompact {
                reason: CompactReason::Manual,
                instructions,
                tokens_before,
                window,
                previous_summary,
                files_read: read,
                files_modified: modified,
                first_kept,
                entries,
            }
        },
    )
}

fn styled_span() -> impl Strategy<Value = StyledSpan> {
    let color = option::of(prop::sample::select(SpanColor::ALL));
    (text(), color, any::<bool>()).prop_map(|(text, fg, bold)| StyledSpan { text, fg, bold })
}

fn subscriptions() -> impl Strategy<Value = Vec<Subscription>> {
    let entry = (text(), texts(), option::of(text()));
    let entry = entry.prop_map(|(event, tools, role)| Subscription { event, tools, role });
    vec(entry, 0..3)
}

fn registration() -> impl Strategy<Value = ExtensionFrame> {
    prop_oneof![
        (name(), name(), text()).prop_map(|(kind, name, description)| RegisterFrame {
            kind,
            name,
            description
        }
        .into()),
        (name(), name()).prop_map(|(kind, name)| UnregisterFrame { kind, name }.into()),
        (id(), text()).prop_map(|(id, error)| ExtensionCallResult { id, error }.into()),
    ]
}

pub(crate) fn extension_frame() -> impl Strategy<Value = ExtensionFrame> {
    prop_oneof![
        (name(), text(), texts(), texts()).prop_map(|(name, version, capabilities, mirror)| Hello {
            name,
            version,
            capabilities,
            protocol_version: None,
            mirror
        }
        .into()),
        (name(), text(), any::<bool>()).prop_map(|(name, description, completes)| {
            RegisterCommand { name, description, completes }.into()
        }),
        register_tool(),
        registration(),
        (subscriptions(), subscriptions()).prop_map(|(events, intercept)| Subscribe {
            replace: false,
            events,
            intercept
        }
        .into()),
        Just(Ready {}.into()),
        tool_result(),
        (id(), option::of(vec(block(), 0..3)), option::of(object()))
            .prop_map(|(id, content, details)| { ToolCallProgress { id, content, details }.into() }),
        (option::of(id()), name(), object(), option::of(id()), option::of(name()))
            .prop_map(|(id, call, args, under, session)| HostCall { id, call, args, under, session }.into()),
        id().prop_map(|id| HostCallCancel { id }.into()),
        text().prop_map(|text| SubmitText { text }.into()),
        text().prop_map(|text| SubmitSlash { text }.into()),
        panel().prop_map(|panel| OpenPanel { panel }.into()),
        (id(), name(), object(), option::of(id())).prop_map(|(id, name, args, parent_id)| ToolRequest {
            id,
            name,
            args,
            parent_id
        }
        .into()),
        id().prop_map(|id| ToolRequestCancel { id }.into()),
        intercept_response(),
        command_response(),
        (id(), vec((text(), text(), text()), 0..3)).prop_map(|(id, items)| {
            let item = |(value, label, description)| CompletionItem { value, label, description };
            CommandCompletionsResponse { id, items: items.into_iter().map(item).collect() }.into()
        }),
        panel().prop_map(|Panel { id, title, lines, footer }| {
            PanelRender { panel_id: id, title, lines, footer }.into()
        }),
        panel_id().prop_map(|panel_id| PanelClose { panel_id }.into()),
        (level(), text()).prop_map(|(level, message)| Notify { level, message }.into()),
        Just(ClearNotes {}.into()),
        (name(), text(), vec(styled_span(), 0..3)).prop_map(|(key, text, styled)| SetStatus {
            key,
            text,
            styled
        }
        .into()),
        id().prop_map(|id| Pong { id }.into()),
        Just(ShutdownAck {}.into()),
    ]
}

fn block() -> impl Strategy<Value = ResultBlock> {
    prop_oneof![text().prop_map(|text| ResultBlock::Text { text }), png_image().prop_map(ResultBlock::Image),]
}

fn any_message() -> impl Strategy<Value = Message> {
    let time = || text().prop_map(Rfc3339Time);
    let content = || vec(content_block(), 0..3);
    prop_oneof![
        (content(), time()).prop_map(|(content, time)| Message::User { content, time }),
        (vec(assistant_block(), 0..3), time())
            .prop_map(|(content, time)| { Message::Assistant(AssistantMessage::new(content, time)) }),
        (name(), name(), content(), any::<bool>(), option::of(object()), time()).prop_map(
            |(id, name, content, is_error, details, time)| {
                let (call_id, extension) = (ToolCallId::new(id), None);
                Message::Tool(
                    ToolMessage::new(call_id, name, content, time)
                        .with_is_error(is_error)
                        .with_extension(extension)
                        .with_details(details),
                )
            }
        ),
    ]
}

fn content_block() -> impl Strategy<Value = ContentBlock> {
    prop_oneof![text().prop_map(ContentBlock::text), png_image().prop_map(ContentBlock::Image)]
}

fn assistant_block() -> impl Strategy<Value = AssistantBlock> {
    prop_oneof![
        text().prop_map(|text| AssistantBlock::Text { text }),
        text().prop_map(|text| AssistantBlock::Thinking { text }),
        (name(), name(), object()).prop_map(|(id, name, args)| {
            AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name, args })
        }),
    ]
}

fn png_image() -> impl Strategy<Value = Image> {
    (text(), text()).prop_map(|(mime_type, data)| Image { mime_type, data: data.into() })
}

fn register_tool() -> impl Strategy<Value = ExtensionFrame> {
    let texts = (text(), texts(), text(), text());
    let ways = (any::<bool>(), option::of(any::<u64>()), any::<bool>());
    (name(), option::of(object()), texts, ways).prop_map(|(name, schema, texts, ways)| {
        let (description, guidelines, label, snippet) = texts;
        let (exclusive, timeout_ms, replaces) = ways;
        RegisterTool {
            name,
            description,
            schema,
            guidelines,
            label,
            snippet,
            exclusive,
            timeout_ms,
            replaces,
        }
        .into()
    })
}

fn tool_result() -> impl Strategy<Value = ExtensionFrame> {
    (id(), vec(block(), 0..4), any::<bool>(), option::of(object()), any::<bool>()).prop_map(
        |(id, content, is_error, details, terminate)| {
            ToolResultFrame { id, content, is_error, details, terminate }.into()
        },
    )
}

fn user_bash_result() -> impl Strategy<Value = UserBashResult> {
    let ran = (text(), option::of(any::<i32>()));
    ran.prop_map(|(output, exit_code)| UserBashResult { output, exit_code })
}

fn intercept_response() -> impl Strategy<Value = ExtensionFrame> {
    let raw_text = option::of(text().prop_map(|text| RawJson::from_value(&text).unwrap()));
    (older_response(), option::of(object()), option::of(json_array()), raw_text).prop_map(
        |(response, options, tools, text)| {
            let (display, modified_tool) = (text.clone(), text);
            EventInterceptResponse { options, tools, display, modified_tool, ..response }.into()
        },
    )
}

/// A response without the fields of other types for other hooks.
fn older_response() -> impl Strategy<Value = EventInterceptResponse> {
    let texts = (text(), text(), text(), option::of(text()), text());
    let decided = (option::of(any::<bool>()), option::of(raw()), option::of(text()));
    let summed_up = (text(), option::of(text()));
    let result = (option::of(json_array()), option::of(object()), option::of(any::<bool>()));
    let input = (
        option::of(text()),
        option::of(vec(png_image(), 0..3)),
        option::of(any::<bool>()),
        text(),
        option::of(json_array()),
    );
    let request = (option::of(object()), option::of(proptest::collection::btree_map(name(), text(), 0..3)));
    let stop = option::of(prop::sample::select(StopScope::ALL));
    let opinion = option::of(prop::sample::select(TrustOpinion::ALL));
    let paths = (option::of(json_array()), option::of(json_array()), opinion, option::of(any::<bool>()));
    let changes = (result, input, request, (option::of(text()), option::of(user_bash_result()), stop), paths);
    (id(), decided, texts, summed_up, changes).prop_map(|(id, decided, texts, summed_up, changes)| {
        let (
            result,
            (text, images, handled, go_on, messages),
            (payload, headers),
            (command, result_of_bash, stop),
            (skills, templates, trust, remember),
        ) = changes;
        let (block, modified_args, tool_name) = decided;
        let (summary, first_kept) = summed_up;
        let (content, details, is_error) = result;
        let (reason, replace_text, append_system_prompt, system_prompt, error) = texts;
        EventInterceptResponse {
            block,
            reason,
            modified_args,
            tool_name,
            replace_text,
            append_system_prompt,
            system_prompt,
            summary,
            first_kept,
            content,
            details,
            is_error,
            text,
            images,
            handled,
            go_on,
            messages,
            payload,
            headers: headers.map(Box::new),
            command,
            result: result_of_bash.map(Box::new),
            skills,
            templates,
            trust: trust.map(|opinion| RawJson::from_value(&opinion).unwrap()),
            remember: remember.map(|remembers| RawJson::from_value(&remembers).unwrap()),
            stop: stop.map(|scope| RawJson::from_value(&scope).unwrap()),
            error,
            ..EventInterceptResponse::pass_through(id)
        }
    })
}

fn panel() -> impl Strategy<Value = Panel> {
    (panel_id(), text(), texts(), text()).prop_map(|(id, title, lines, footer)| Panel {
        id,
        title,
        lines,
        footer,
    })
}

fn command_response() -> impl Strategy<Value = ExtensionFrame> {
    let texts = (text(), text(), text(), text(), text());
    (id(), texts, option::of(panel())).prop_map(|(id, texts, open_panel)| {
        let (action, prompt, insert, display, error) = texts;
        CommandResponse { id, action, prompt, insert, display, open_panel, error }.into()
    })
}
