//! The size limit of a message.

use haft_protocol::content::Image;
use haft_protocol::rpc::{MAX_LINE, PromptCommand, RpcRequest};

/// The bytes reserved for the other fields of a request.
const REST: usize = 1024;

/// The maximum number of bytes that one byte of text needs in a JSON line.
const ESCAPED: usize = 6;

/// Checks that a message fits into one line of the protocol.
///
/// # Errors
/// Returns a message for the user if it does not fit.
pub(super) fn check_message_size(message: &str, images: &[Image]) -> Result<(), String> {
    let of_images: usize = images.iter().map(|image| image.data.len() + image.mime_type.len() + REST).sum();
    // Most messages are so short that they need not be encoded.
    if message.len() * ESCAPED + of_images + REST <= MAX_LINE {
        return Ok(());
    }
    let prompt = PromptCommand { message: message.to_owned(), images: images.to_vec(), plain: Some(true) };
    let length = RpcRequest::new(prompt).encode().map_or(usize::MAX, |line| line.len());
    if length + REST <= MAX_LINE {
        return Ok(());
    }
    let (most, with) = (MAX_LINE / (1024 * 1024), if images.is_empty() { "" } else { " with its images" });
    Err(format!(
        "the prompt was not sent: {:.1} MiB{with} exceeds the limit of {most} MiB; save the text in a file and name \
         the file in the prompt",
        as_mib(length)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn as_mib(bytes: usize) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(bytes: usize) -> Image {
        Image { mime_type: "image/png".into(), data: "A".repeat(bytes).into() }
    }

    #[track_caller]
    fn check(message: &str, images: &[Image], expect: Result<(), &str>) {
        let checked = check_message_size(message, images);
        assert_eq!(
            checked.as_ref().map_err(|why| why.split(';').next().unwrap()),
            expect.as_ref().map(|()| &()).map_err(|why| *why)
        );
    }

    #[test]
    fn rejects_messages_over_the_line_limit() {
        check("hi", &[image(1000)], Ok(()));
        check(&"x".repeat(MAX_LINE - 2 * REST), &[], Ok(()));
        let why = "the prompt was not sent: 16.0 MiB exceeds the limit of 16 MiB";
        check(&"x".repeat(MAX_LINE), &[], Err(why));
        let why = "the prompt was not sent: 18.0 MiB exceeds the limit of 16 MiB";
        check(&"\u{7}".repeat(3 * 1024 * 1024), &[], Err(why));
        let why = "the prompt was not sent: 20.0 MiB with its images exceeds the limit of 16 MiB";
        check("look", &[image(10 * 1024 * 1024), image(10 * 1024 * 1024)], Err(why));
    }
}
