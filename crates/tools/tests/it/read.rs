//! `read` with real files.

use base64::Engine;
use haft_core::truncate::{MAX_BYTES, MAX_LINES};
use haft_protocol::content::ContentBlock;
use serde_json::json;

use crate::ground::Ground;

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn returns_small_file_unchanged() {
    let ground = Ground::new();
    ground.file("a.txt", "one\n  two\n");
    for path in ["a.txt", "@a.txt", "./a.txt", ground.path("a.txt").to_str().unwrap()] {
        assert_eq!(ground.ok("read", json!({"path": path})).await, "one\n  two\n", "{path}");
    }
    std::fs::write(ground.base().join("home/h.txt"), "home").unwrap();
    assert_eq!(ground.ok("read", json!({"path": "~/h.txt"})).await, "home");
    ground.file("empty", "");
    assert_eq!(ground.ok("read", json!({"path": "empty"})).await, "[empty is empty]");
}

#[tokio::test]
async fn reads_pages() {
    let ground = Ground::new();
    ground.file("a.txt", numbered(10));
    let page = ground.ok("read", json!({"path": "a.txt", "offset": 3, "limit": 2})).await;
    assert_eq!(page, "line 3\nline 4\n[showing lines 3-4; more follow, use offset=5]\n");
    let page = ground.ok("read", json!({"path": "a.txt", "offset": 9})).await;
    assert_eq!(page, "line 9\nline 10\n");
    let text = ground.error("read", json!({"path": "a.txt", "offset": 11})).await;
    assert_eq!(text, "offset 11 is past the end of a.txt, which has 10 lines");
}

#[tokio::test]
async fn limits_lines_and_bytes() {
    let ground = Ground::new();
    ground.file("exact", "x\n".repeat(MAX_LINES));
    assert_eq!(ground.ok("read", json!({"path": "exact"})).await.lines().count(), MAX_LINES);
    ground.file("over", "x\n".repeat(MAX_LINES + 1));
    let text = ground.ok("read", json!({"path": "over", "limit": 100_000})).await;
    assert!(text.ends_with("[showing lines 1-2000; more follow, use offset=2001]\n"), "{text}");
    // 100 bytes per line: 512 lines are 50 KB, in a file of several chunks.
    ground.file("bytes", format!("{}\n", "y".repeat(99)).repeat(10_000));
    let text = ground.ok("read", json!({"path": "bytes", "offset": 9_000})).await;
    assert!(
        text.ends_with("[showing lines 9000-9511; more follow, use offset=9512]\n"),
        "{}",
        &text[MAX_BYTES..]
    );
    ground.file("long", format!("{}\nend\n", "ä".repeat(MAX_BYTES)));
    let text = ground.ok("read", json!({"path": "long"})).await;
    assert!(text.contains(
        "[line 1 is longer than 50 KB and was cut; to see the rest, run in bash: sed -n '1p' long | cut -b"
    ));
    assert!(text.ends_with("use offset=2]\n"), "{}", &text[MAX_BYTES..]);
    // Longer than what is read at a time.
    ground.file("only", "x".repeat(300 * 1024));
    let text = ground.ok("read", json!({"path": "only"})).await;
    assert_eq!(
        text.get(MAX_BYTES..),
        Some(
            "\n[line 1 is longer than 50 KB and was cut; to see the rest, run in bash: sed -n '1p' only | cut -b 51201-]\n"
        )
    );
}

#[tokio::test]
async fn rejects_binary_files_and_shows_images() {
    let ground = Ground::new();
    ground.file("bin", b"abc\0def");
    assert!(ground.error("read", json!({"path": "bin"})).await.contains("binary"));
    ground.file("late", [numbered(100_000).as_bytes(), b"\0"].concat());
    assert_eq!(ground.ok("read", json!({"path": "late", "limit": 1})).await.lines().next(), Some("line 1"));
    assert!(ground.error("read", json!({"path": "late", "offset": 99_999})).await.contains("binary"));
    ground.file("latin", b"caf\xe9\n");
    let text = ground.ok("read", json!({"path": "latin"})).await;
    assert_eq!(text, "caf\u{fffd}\n[bytes that are not UTF-8 are shown as \u{fffd}]\n");
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0data";
    ground.file("p.txt", png);
    let output = ground.output("read", json!({"path": "p.txt"})).await;
    let Some(ContentBlock::Image(image)) = output.content.get(1) else { panic!("{output:?}") };
    assert_eq!(image.mime_type, "image/png");
    assert_eq!(base64::prelude::BASE64_STANDARD.decode(image.data.as_bytes()).unwrap(), png);
}

#[tokio::test]
async fn accepts_images_up_to_five_mebibytes() {
    let ground = Ground::new();
    let mut image = b"GIF89a".to_vec();
    image.resize(5 * 1024 * 1024, 1);
    ground.file("fits.gif", &image);
    assert_eq!(ground.output("read", json!({"path": "fits.gif"})).await.content.len(), 2);
    image.push(1);
    ground.file("big.gif", &image);
    let text = ground.error("read", json!({"path": "big.gif"})).await;
    assert_eq!(text, "big.gif is an image of 5242881 bytes, and the limit is 5 MiB; reduce its size first");
}

#[tokio::test]
async fn rejects_image_with_too_many_pixels() {
    let ground = Ground::new();
    ground.file("bomb.gif", b"GIF89a\xff\xff\xff\xff\0\0\0;");
    let text = ground.error("read", json!({"path": "bomb.gif"})).await;
    assert_eq!(text, "cannot show bomb.gif: the image is too large: 65535 by 65535 pixels");
}

#[tokio::test]
async fn errors_contain_the_path() {
    let ground = Ground::new();
    let check = async |path: &str, expect: &str| {
        assert_eq!(ground.error("read", json!({"path": path})).await, expect);
    };
    check("no.txt", "cannot read BASE/place/no.txt: No such file or directory (os error 2)").await;
    check(".", ". is a directory; use ls to list it").await;
    check("", "the path is empty").await;
    check("/dev/zero", "/dev/zero: is not a regular file but a pipe, socket or device").await;
    ground.ok("bash", json!({"command": "mkfifo fifo"})).await;
    check("fifo", "BASE/place/fifo: is not a regular file but a pipe, socket or device").await;
}
