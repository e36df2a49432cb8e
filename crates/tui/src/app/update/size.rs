//! The greatest size of a message.

use haft_protocol::content::Image;
use haft_protocol::rpc::{MAX_LINE, PromptCommand, RpcRequest};

/// Beside what is said, a request says what it is, and about which session.
const REST: usize = 1024;

/// The most bytes that a character of the text has in a line.
const ESCAPED: usize = 6;

/// Checks that a message can be sent.
///
/// # Errors
/// Why not, and what to do, for people.
pub(super) fn check_message_size(message: &str, images: &[Image]) -> Result<(), String> {
    let of_images: usize = images.iter().map(|image| image.data.len() + image.mime_type.len() + REST).sum();
    // Most are so short that they need not be written.
    if message.len() * ESCAPED + of_images + REST <= MAX_LINE {
        return Ok(());
    }
    let said = PromptCommand { message: message.to_owned(), images: images.to_vec(), plain: Some(true) };
    let length = RpcRequest::new(said).encode().map_or(usize::MAX, |line| line.len());
    if length + REST <= MAX_LINE {
        return Ok(());
    }
    let (most, with) = (MAX_LINE / (1024 * 1024), if images.is_empty() { "" } else { " with its images" });
    Err(format!(
        "the prompt was not sent: {:.1} MiB{with} exceeds the limit of {most} MiB; save the text in a file and name the \
         file in the prompt",
        as_mib(length)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
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
        let said = check_message_size(message, images);
        assert_eq!(
            said.as_ref().map_err(|why| why.split(';').next().unwrap()),
            expect.as_ref().map(|()| &()).map_err(|why| *why)
        );
    }

    #[test]
    fn what_no_line_could_say_is_not_sent() {
        check("hi", &[image(1000)], Ok(()));
        check(&"x".repeat(MAX_LINE - 2 * REST), &[], Ok(()));
        let why = "the prompt was not sent: 16.0 MiB exceeds the limit of 16 MiB";
        check(&"x".repeat(MAX_LINE), &[], Err(why));
        let why = "the prompt was not sent: 18.0 MiB exceeds the limit of 16 MiB";
        check(&"\u{7}".repeat(3 * 1024 * 1024), &[], Err(why));
        let why =
            "the prompt was not sent: 20.0 MiB with its images exceeds the limit of 16 MiB";
        check("look", &[image(10 * 1024 * 1024), image(10 * 1024 * 1024)], Err(why));
    }
}
