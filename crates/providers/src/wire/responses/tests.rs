//! Each construct of a stream and of a request
//! (<https://platform.openai.com/docs/api-reference/responses-streaming>,
//! <https://platform.openai.com/docs/api-reference/responses/create>).

mod decode;
mod encode;
