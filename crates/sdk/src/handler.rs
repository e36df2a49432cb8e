//! The common form of all handlers: input and host in, answer or failure out, panics caught.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_protocol::RawJson;
use serde::de::DeserializeOwned;

use crate::host::Host;
use crate::tool;

/// The return value of a handler: the answer, or a `Result` with it.
///
/// An error counts as a failure of the handler: a tool or command answers with it, a `tool_call`
/// handler blocks the call, and other hooks pass while the user is told.
pub trait IntoAnswer<A> {
    /// Converts the value to the answer.
    ///
    /// # Errors
    /// The handler's own error, as text.
    fn into_answer(self) -> Result<A, String>;
}

impl<A> IntoAnswer<A> for A {
    fn into_answer(self) -> Result<A, String> {
        Ok(self)
    }
}

impl<A, E: fmt::Display> IntoAnswer<A> for Result<A, E> {
    fn into_answer(self) -> Result<A, String> {
        self.map_err(|error| error.to_string())
    }
}

/// A handler of an [`Extension`](crate::Extension): any `|input, host| async move { … }` or `async fn` of these two
/// parameters that returns the answer, or a `Result` of it.
#[diagnostic::on_unimplemented(
    message = "a handler here is `|input, host| async move {{ … }}` with an input `{I}` that returns `{A}` or a `Result` of it"
)]
pub trait HandlerFn<I, A>: Fn(I, Host) -> <Self as HandlerFn<I, A>>::Future + Send + Sync + 'static {
    /// The future of one call.
    type Future: Future<Output: IntoAnswer<A>> + Send + 'static;
}

impl<I, A, F, Fut> HandlerFn<I, A> for F
where
    F: Fn(I, Host) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoAnswer<A>> + Send + 'static,
{
    type Future = Fut;
}

/// The error or panic of a handler, as text.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct HandlerFailure(pub String);

/// The running call of a handler.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type DynHandler<I, A, H> = dyn Fn(I, H) -> BoxFuture<Result<A, HandlerFailure>> + Send + Sync;

/// A handler with its type erased. `H` is its connection to the host: `()` for peers without one.
pub struct BoxedHandler<I, A, H = Host>(Arc<DynHandler<I, A, H>>);

impl<I, A, H> Clone for BoxedHandler<I, A, H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<I, A, H> fmt::Debug for BoxedHandler<I, A, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

impl<I: Send + 'static, A, H: Send + 'static> BoxedHandler<I, A, H> {
    /// Boxes a handler.
    pub fn new<F, Fut>(handler: F) -> Self
    where
        F: Fn(I, H) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoAnswer<A>> + Send + 'static,
    {
        let handler = Arc::new(handler);
        Self(Arc::new(move |input, host| {
            let handler = Arc::clone(&handler);
            Box::pin(async move {
                // The call itself is inside the future, so that a panic of the closure is caught,
                // too.
                let mut running = pin!(async move { handler(input, host).await });
                poll_fn(|context| poll_caught(running.as_mut(), context)).await
            })
        }))
    }

    /// Calls the handler; a panic of it is a failure.
    pub fn call(&self, input: I, host: H) -> BoxFuture<Result<A, HandlerFailure>> {
        (self.0)(input, host)
    }
}

impl<Args: DeserializeOwned + Send + 'static, A: 'static, H: Send + 'static> BoxedHandler<Args, A, H> {
    /// Converts to a handler of the model's raw arguments. Arguments that do not fit are answered
    /// with an error.
    #[must_use]
    pub fn reading_args(self) -> BoxedHandler<RawJson, A, H> {
        BoxedHandler::new(move |args: RawJson, host| {
            let typed = self.clone();
            async move {
                let args = tool::read_args(&args)?;
                typed.call(args, host).await.map_err(|HandlerFailure(reason)| reason)
            }
        })
    }
}

/// Polls a handler and catches a panic. After a panic it must not be polled again.
fn poll_caught<A, O: IntoAnswer<A>>(
    running: Pin<&mut impl Future<Output = O>>,
    context: &mut Context<'_>,
) -> Poll<Result<A, HandlerFailure>> {
    // State that handlers share is their author's responsibility: a lock held during a panic is
    // poisoned as usual.
    match panic::catch_unwind(AssertUnwindSafe(|| running.poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(output.into_answer().map_err(HandlerFailure)),
        Err(panic) => Poll::Ready(Err(HandlerFailure(panic_text(&*panic)))),
    }
}

/// The panic message of tokio if a runtime thread that others wait for blocks.
const MUST_NOT_BLOCK: &str = "can call blocking only when running on the multi-threaded runtime";

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("no message");
    match message == MUST_NOT_BLOCK {
        true => "handler panicked: an intercept that has waited cannot use block_in_place; await spawn_blocking instead"
            .to_owned(),
        false => format!("handler panicked: {message}"),
    }
}
