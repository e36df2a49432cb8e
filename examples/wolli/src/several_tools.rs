//! Several tools with one connection, which is closed at the end of the session.

use std::sync::{Arc, Mutex, PoisonError};

use haft_sdk::{Extension, NoArgs, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct DatabaseQuery {
    sql: String,
}

/// The connection, shared by the tools.
#[derive(Clone, Default)]
struct Connection(Arc<Mutex<Option<Vec<String>>>>);

impl Connection {
    /// Opens the connection.
    fn open(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// Runs a query. Returns its number, or `None` without a connection.
    fn query(&self, sql: String) -> Option<usize> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let queries = open.as_mut()?;
        queries.push(sql);
        Some(queries.len())
    }

    /// Closes the connection. Returns its queries, or `None` if there was no connection.
    fn close(&self) -> Option<Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

pub(crate) fn build() -> Extension {
    let connection = Connection::default();
    let (opened, queried, closed) = (connection.clone(), connection.clone(), connection.clone());
    Extension::new("several_tools", "1.0.0")
        .tool("db_connect", "Connect to the database.", move |_: NoArgs, _host| {
            opened.open();
            async { ToolResult::text("connected") }
        })
        .tool("db_query", "Query the database.", move |args: DatabaseQuery, _host| {
            let number = queried.query(args.sql);
            async move {
                number.map_or(ToolResult::error("not connected"), |number| {
                    ToolResult::text(format!("row {number}"))
                })
            }
        })
        .tool("db_close", "Close the connection.", move |_: NoArgs, _host| {
            closed.close();
            async { ToolResult::text("closed") }
        })
        .wait_session_shutdown(move |shutdown, _host| {
            let queries = connection.close();
            async move {
                let Some(queries) = queries else { return Ok(()) };
                std::fs::write("closed.txt", format!("{}: {}\n", shutdown.reason, queries.join(", ")))
            }
        })
}
