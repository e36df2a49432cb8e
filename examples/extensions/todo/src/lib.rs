//! Example extension `todo`: a persistent list, as a panel for the user and as a tool for the
//! model.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use haft_sdk::{Completion, Extension, Host, PanelEvent, Response, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

mod board;
mod list;

use board::{Board, PANEL};
use list::List;

/// The arguments of the model. One flat struct, because model APIs accept no alternatives at the
/// top of a schema.
#[derive(Debug, Deserialize, JsonSchema)]
struct Change {
    /// The task.
    action: Action,
    /// With `add`: what is to do.
    #[serde(default)]
    text: String,
    /// With `complete`: the todo's number, from 1.
    #[serde(default)]
    number: usize,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Add,
    Complete,
}

/// The extension: `/todo` opens the panel, `/todo TEXT` adds to the list, `/todo done NUMBER`
/// completes an item, and the tool `todo` does the same for the model.
pub fn extension() -> Extension {
    let state = State::default();
    let (command, completion, tool, panel) = (state.clone(), state.clone(), state.clone(), state);
    Extension::new("todo", "1.0.0")
        .command("todo", "open the todo list, add TEXT to it, or `done NUMBER`", move |text, host| {
            let state = command.clone();
            async move { state.with(&host, |board| invoke(board, &text)).await }
        })
        .complete("todo", move |typed, host| {
            let state = completion.clone();
            async move { state.with(&host, |board| completions(&board.list, &typed)).await }
        })
        .tool("todo", "Read and change the user's todo list.", move |change: Change, host| {
            let state = tool.clone();
            async move {
                let (result, panel) =
                    state.with(&host, |board| (act(&mut board.list, &change), board.redraw())).await?;
                panel.into_iter().for_each(|panel| host.render_panel(panel));
                Ok::<_, io::Error>(result)
            }
        })
        .guideline("todo", "Keep the user's plans in `todo`, and complete what is done.")
        .panel(PANEL, move |event, host| {
            let state = panel.clone();
            async move { state.handle(&event, &host).await }
        })
}

fn invoke(board: &mut Board, text: &str) -> Response {
    if text.is_empty() {
        return Response::open_panel(board.open());
    }
    if let Some(number) = text.strip_prefix("done ").and_then(|number| number.trim().parse().ok())
        && board.list.complete(number)
    {
        return Response::display(format!("done: number {number}"));
    }
    board.list.add(text);
    Response::display(format!("added: {text}"))
}

/// Returns `done NUMBER` for each open todo that matches the typed text.
fn completions(list: &List, typed: &str) -> Vec<Completion> {
    let open = list.todos.iter().zip(1..).filter(|(todo, _)| !todo.done);
    let offered = open.map(|(todo, number)| (format!("done {number}"), todo));
    let fitting = offered.filter(|(value, _)| value.starts_with(typed));
    fitting.map(|(value, todo)| Completion::new(value).description(&todo.text)).collect()
}

fn act(list: &mut List, change: &Change) -> ToolResult {
    match change.action {
        Action::List => {}
        Action::Add if change.text.trim().is_empty() => return ToolResult::error("text must not be empty"),
        Action::Add => list.add(&change.text),
        Action::Complete => {
            if !list.complete(change.number) {
                return ToolResult::error(format!("there is no todo number {}", change.number));
            }
        }
    }
    ToolResult::text(list.to_string())
}

/// The board, shared by all handlers. It is read from the data directory when first needed.
#[derive(Debug, Clone, Default)]
struct State(Arc<Mutex<Option<Board>>>);

impl State {
    /// Changes the board and saves the list.
    async fn with<T>(&self, host: &Host, work: impl FnOnce(&mut Board) -> T) -> io::Result<T> {
        let file = host.data_dir().await.join("todos.json");
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let board = match &mut *slot {
            Some(board) => board,
            empty => empty.insert(Board::new(List::load(&file)?)),
        };
        let before = board.list.clone();
        let outcome = work(board);
        if board.list != before {
            board.list.save(&file)?;
        }
        match board.list.open() {
            0 => host.clear_status("open"),
            open => host.set_status("open", format!("{open} open")),
        }
        Ok(outcome)
    }

    async fn handle(&self, event: &PanelEvent, host: &Host) -> io::Result<()> {
        match event {
            PanelEvent::Resized { .. } => {}
            PanelEvent::Closed => self.with(host, Board::close).await?,
            PanelEvent::Key(key) => {
                let panel = self.with(host, |board| {
                    board.key(key);
                    board.redraw()
                });
                match panel.await? {
                    Some(panel) => host.render_panel(panel),
                    None => host.close_panel(PANEL),
                }
            }
        }
        Ok(())
    }
}
