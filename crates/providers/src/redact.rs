//! Removes keys from all text that people, logs or models read.

mod dump;

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::ops::Range;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use haft_core::TextFilter;
use haft_core::hooks::{AfterToolExecute, CancellationToken, FinishedCall, ResultDecision};
use haft_core::sanitize::{is_formless, sanitize, visible_chars};
use haft_core::tool::ToolOutput;
use haft_protocol::content::ContentBlock;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use dump::dumped_bytes;

/// The secrets of one configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretRedactor {
    secrets: Vec<RedactedSecret>,
}

/// A secret, and the number of its characters from which a part of it is secret too.
#[derive(Debug, Clone)]
struct RedactedSecret {
    text: SecretString,
    part: usize,
}

/// The minimum length of a secret; shorter values are too common in ordinary text to be hidden.
const SHORTEST: usize = 4;

/// The length of the shortest hidden part of a key. Shorter parts are too common in ordinary text, and help nobody to
/// guess the key.
const PART: usize = 8;

const REDACTED: &str = "[redacted]";

impl SecretRedactor {
    /// Adds a value that is secret as a whole, such as a header with ordinary words.
    pub(crate) fn add(&mut self, value: &str) {
        self.push(value, usize::MAX);
    }

    /// Adds a key, or the key in a `Bearer <key>` value.
    pub(crate) fn add_key(&mut self, value: &str) {
        self.push(value, usize::MAX);
        self.push(value.rsplit(' ').next().unwrap_or_default(), PART);
    }

    /// Adds the value of a header, which is a key if the header's name says so.
    pub(crate) fn add_header(&mut self, name: &str, value: &str) {
        let name = name.to_ascii_lowercase();
        match ["auth", "cookie", "key", "secret", "token"].iter().any(|word| name.contains(word)) {
            true => self.add_key(value),
            false => self.add(value),
        }
    }

    fn push(&mut self, text: &str, part: usize) {
        if text.len() >= SHORTEST {
            self.secrets.push(RedactedSecret { text: text.into(), part });
        }
    }

    /// Sanitizes the text and replaces all secrets in it, in any case, and also as base64, hex, URL-escaped or
    /// JSON-escaped text. Of a key, every part of at least [`PART`] characters is replaced. Control characters are
    /// removed first, because a terminal would join the parts that they separate.
    pub(crate) fn apply(&self, text: &str) -> String {
        let text = sanitize(text);
        let of_secret = |secret: &RedactedSecret| {
            let part = secret.part;
            encoded_forms(secret.text.expose_secret()).into_iter().map(move |form| (form, part))
        };
        let forms: Vec<(Vec<u8>, usize)> = self.secrets.iter().flat_map(of_secret).collect();
        let parts: HashSet<&[u8]> =
            forms.iter().flat_map(|(form, part)| form.windows((*part).min(form.len()).max(1))).collect();
        let lengths: BTreeSet<usize> = parts.iter().map(|part| part.len()).collect();

        let compared: Vec<(usize, u8)> = folded_bytes(&text).collect();
        let bytes: Vec<u8> = compared.iter().map(|(_, byte)| *byte).collect();
        let mut secret = BTreeSet::new();
        for length in lengths {
            for (window, places) in bytes.windows(length).zip(compared.windows(length)) {
                if parts.contains(window) {
                    secret.extend(places.iter().map(|(at, _)| *at));
                }
            }
        }
        replace_chars(&text, &secret)
    }
}

/// Removes the keys of providers from the results of tools.
#[derive(Clone, Default)]
pub struct KeyRedactor {
    /// The parts of the keys in all forms.
    secret: HashSet<u64, foldhash::fast::RandomState>,
    /// The parts of [`KNOWN_BEGINNINGS`], which are removed only together with a secret part.
    public: HashSet<u64, foldhash::fast::RandomState>,
}

/// The beginnings of keys that everybody knows. They are no secrets, and source code contains them.
const KNOWN_BEGINNINGS: [&str; 5] =
    ["sk-ant-api03-", "sk-ant-oat01-", "sk-svcacct-", "sk-or-v1-", "sk-proj-"];

/// A compared byte and the range of its character, or of the digits that stand for it.
type PlacedByte = (Range<usize>, u8);

impl KeyRedactor {
    /// Creates a redactor for these keys. Keys with fewer than 8 characters are not removed.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut created = Self::default();
        for key in keys {
            let key = key.expose_secret().rsplit(' ').next().unwrap_or_default();
            let known = KNOWN_BEGINNINGS.iter().find(|known| key.starts_with(*known));
            let known: Vec<u8> =
                known.into_iter().flat_map(|known| folded_bytes(known)).map(|(_, byte)| byte).collect();
            created.public.extend(part_numbers(&known));
            for form in encoded_forms(key) {
                created.secret.extend(part_numbers(&form));
            }
        }
        created.secret.retain(|part| !created.public.contains(part));
        created
    }

    /// Returns the text without keys, as [`ModelError`](haft_core::model::ModelError) messages are; `None` if the text
    /// has no key. Control characters, terminal sequences and invisible characters do not separate the parts of a key.
    /// White space does: the numbers of a list are no key. Dumps of binary data are compared by their bytes.
    pub fn redact(&self, text: &str) -> Option<String> {
        if self.secret.is_empty() {
            return None;
        }
        let mut found = self.find_parts(word_bytes(text.char_indices()));
        if text.contains(|c: char| c.is_control() && !is_separator(c)) {
            // A terminal does not show the content of a sequence; a model may read it. Thus both texts are searched.
            found.extend(self.find_parts(word_bytes(visible_chars(text))));
        }
        for bytes in dumped_bytes(text) {
            found.extend(self.find_parts(bytes.into_iter()));
        }
        let ranges = merge_secret_ranges(found);
        (!ranges.is_empty()).then(|| replace_ranges(text, &ranges))
    }

    /// Returns the ranges of the parts of keys; true marks a secret part. `None` separates bytes.
    fn find_parts(&self, bytes: impl Iterator<Item = Option<PlacedByte>>) -> Vec<(Range<usize>, bool)> {
        let (mut found, mut part, mut begins) = (Vec::new(), 0, VecDeque::with_capacity(PART));
        for byte in bytes {
            let Some((range, byte)) = byte else {
                begins.clear();
                continue;
            };
            part = append_byte(part, &byte);
            begins.push_back(range.start);
            let is_secret = self.secret.contains(&part);
            if begins.len() == PART
                && let Some(begin) = begins.pop_front()
                && (is_secret || self.public.contains(&part))
            {
                found.push((begin..range.end, is_secret));
            }
        }
        found
    }

    /// True if a text in the JSON has a key, also one whose characters are escaped.
    fn is_in_json(&self, json: &str) -> bool {
        self.redact(json).is_some() || serde_json::from_str(json).is_ok_and(|value| self.is_in_value(&value))
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.redact(text).is_some(),
            Value::Array(values) => values.iter().any(|value| self.is_in_value(value)),
            Value::Object(fields) => {
                fields.iter().any(|(name, value)| self.redact(name).is_some() || self.is_in_value(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Iterates over the compared bytes of words, with `None` for white space between them.
fn word_bytes(chars: impl Iterator<Item = (usize, char)>) -> impl Iterator<Item = Option<PlacedByte>> {
    chars.filter(|(_, c)| is_separator(*c) || is_compared(*c)).flat_map(|(at, c)| {
        let (bytes, length) = if is_separator(c) { ([0; 4], 1) } else { fold_char(c) };
        let place = move |byte| (!is_separator(c)).then_some((at..at + c.len_utf8(), byte));
        bytes.into_iter().take(length).map(place)
    })
}

/// Joins overlapping ranges, and keeps those with a secret part.
fn merge_secret_ranges(mut found: Vec<(Range<usize>, bool)>) -> Vec<Range<usize>> {
    found.sort_by_key(|(range, _)| range.start);
    let mut merged: Vec<(Range<usize>, bool)> = Vec::new();
    for (range, is_secret) in found {
        match merged.last_mut().filter(|(last, _)| range.start <= last.end) {
            Some((last, secret)) => {
                last.end = last.end.max(range.end);
                *secret |= is_secret;
            }
            None => merged.push((range, is_secret)),
        }
    }
    merged.into_iter().filter(|(_, is_secret)| *is_secret).map(|(range, _)| range).collect()
}

fn replace_ranges(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for range in ranges {
        out.push_str(text.get(copied..range.start).unwrap_or_default());
        out.push_str(REDACTED);
        copied = range.end;
    }
    out + text.get(copied..).unwrap_or_default()
}

/// Removes keys from the results of tools. As the first hook, it keeps them from other hooks, the session and the model.
#[async_trait]
impl AfterToolExecute for KeyRedactor {
    async fn after_tool_execute(
        &self,
        _: &CancellationToken,
        _: &FinishedCall,
        mut output: ToolOutput,
    ) -> ResultDecision {
        for block in &mut output.content {
            if let ContentBlock::Text { text } = block
                && let Some(redacted) = self.redact(text)
            {
                *text = redacted;
            }
        }
        output.details = output.details.filter(|details| !self.is_in_json(details.as_str()));
        output.into()
    }

    fn name(&self) -> &'static str {
        "the removal of keys"
    }
}

impl From<KeyRedactor> for TextFilter {
    fn from(redactor: KeyRedactor) -> Self {
        Self::new(move |text| redactor.redact(text))
    }
}

impl fmt::Debug for KeyRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRedactor").finish_non_exhaustive()
    }
}

/// Returns each part of [`PART`] bytes as a number.
fn part_numbers(form: &[u8]) -> impl Iterator<Item = u64> {
    form.windows(PART).map(|part| part.iter().fold(0, append_byte))
}

/// Appends a byte to the last [`PART`] bytes.
fn append_byte(part: u64, byte: &u8) -> u64 {
    part << 8 | u64::from(*byte)
}

/// Replaces each run of the characters at these positions. Characters that are not compared belong to the run around
/// them.
fn replace_chars(text: &str, positions: &BTreeSet<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut is_inside, mut between) = (false, String::new());
    for (at, c) in text.char_indices() {
        if positions.contains(&at) {
            if !is_inside {
                out.push_str(&between);
                out.push_str(REDACTED);
            }
            between.clear();
            is_inside = true;
        } else if is_inside && !is_compared(c) {
            between.push(c);
        } else {
            out.push_str(&std::mem::take(&mut between));
            out.push(c);
            is_inside = false;
        }
    }
    out + &between
}

/// Returns the forms in which a secret is searched, folded.
fn encoded_forms(secret: &str) -> Vec<Vec<u8>> {
    let plain = secret.to_owned();
    let json = serde_json::to_string(secret).unwrap_or_default().trim_matches('"').to_owned();
    let mut forms = vec![plain, json];
    if secret.len() >= PART {
        let hex = |separator: &str| -> String {
            secret.bytes().map(|byte| format!("{separator}{byte:02x}")).collect()
        };
        let url = |is_kept: fn(&u8) -> bool| -> String {
            let escape =
                |byte: u8| if is_kept(&byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
            secret.bytes().map(escape).collect()
        };
        forms.extend([hex(""), hex("%"), hex("\\x"), url(u8::is_ascii_alphanumeric)]);
        forms.push(url(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte)));
        forms.extend((0..3).map(|offset| base64_at(secret.as_bytes(), offset)));
    }
    forms.iter().map(|form| folded_bytes(form).map(|(_, byte)| byte).collect()).collect()
}

/// Returns the base64 characters of a secret that follows `offset` other bytes, without the characters that depend on
/// other bytes.
fn base64_at(secret: &[u8], offset: usize) -> String {
    let encoded = STANDARD_NO_PAD.encode([&[0; 2][..offset], secret].concat());
    let end = (offset + secret.len()) * 8 / 6;
    encoded.get((offset * 8).div_ceil(6)..end).unwrap_or_default().to_owned()
}

/// Iterates over the compared bytes with the positions of their characters. Upper and lower case are equal, as are the
/// two alphabets of base64.
fn folded_bytes(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let compared = text.char_indices().filter(|(_, c)| is_compared(*c));
    compared.flat_map(|(at, c)| {
        let (bytes, length) = fold_char(c);
        bytes.into_iter().take(length).map(move |byte| (at, byte))
    })
}

/// Returns the compared bytes of a character, and their number.
fn fold_char(c: char) -> ([u8; 4], usize) {
    let folded = match c.to_ascii_lowercase() {
        '-' => '+',
        '_' => '/',
        c => c,
    };
    let mut buffer = [0; 4];
    let length = folded.encode_utf8(&mut buffer).len();
    (buffer, length)
}

/// False for a character that can separate the parts of a secret: white space, control characters, and characters
/// without a form of their own.
fn is_compared(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !is_formless(c)
}

/// True for white space that separates words. Other white space moves the cursor, or is invisible.
fn is_separator(c: char) -> bool {
    matches!(c, '\n' | '\t') || c.is_whitespace() && !c.is_control() && !is_formless(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-ant-A1b2_C3d4/E5f6";

    fn redactor() -> SecretRedactor {
        let mut redactor = SecretRedactor::default();
        redactor.add_key(KEY);
        redactor
    }

    #[test]
    fn removes_every_form_of_a_secret() {
        let mut redactor = SecretRedactor::default();
        redactor.add_key("sk-123456");
        redactor.add_header("Authorization", "Bearer tok\"en");
        redactor.add_key("abc");
        let text = r#"bad key sk-123456, also tok"en and "tok\"en", not abc"#;
        assert_eq!(redactor.apply(text), r#"bad key [redacted], also [redacted] and "[redacted]", not abc"#);
        assert!(!format!("{redactor:?}").contains("sk-123456"));
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(redactor().apply(text), expect);
    }

    #[test]
    fn removes_key_that_control_characters_split() {
        check("key sk-ant-\x01A1b2_\x1b[0mC3d4/E5f6 is bad", "key [redacted] is bad");
        check("key sk-ant-A\u{9b}31m1b2_C\u{200b}3d4/E\n5f6 is bad", "key [redacted] is bad");
    }

    #[test]
    fn removes_parts_of_a_key() {
        check("got sk-ant-A1b2_C3d4/E5f", "got [redacted]");
        check("got …2_C3d4/E…", "got …[redacted]…");
        check("SK-ANT-A1B2_C3D4/E5F6", "[redacted]");
        check("sk-ant- is a prefix", "sk-ant- is a prefix");
    }

    #[test]
    fn removes_encoded_key() {
        for before in ["", "x", "xy", "user:"] {
            let encoded = STANDARD_NO_PAD.encode(format!("{before}{KEY}:after"));
            let told = redactor().apply(&format!("Basic {encoded}"));
            assert!(told.contains(REDACTED), "{told}");
            let longest = told.split(REDACTED).map(str::len).max().unwrap_or_default();
            assert!(longest <= "Basic ".len() + 8, "{told}");
        }
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02X}")).collect();
        check(&hex, REDACTED);
        check("key=sk%2Dant%2DA1b2%5FC3d4%2fE5f6&x=1", "key=[redacted]&x=1");
        check("key=sk-ant-A1b2_C3d4%2FE5f6", "key=[redacted]");
    }

    #[test]
    fn keeps_ordinary_text() {
        let text =
            "openai refused the key (401 invalid_api_key: Incorrect API key); check OPENAI_API_KEY\n日本 é";
        check(text, text);
        assert_eq!(SecretRedactor::default().apply(text), text);
        let mut redactor = SecretRedactor::default();
        redactor.add_header("HTTP-Referer", "https://haft.example");
        let text = "see https://other.example, not https://haft.example";
        assert_eq!(redactor.apply(text), "see https://other.example, not [redacted]");
    }

    #[test]
    fn results_of_tools_keep_everything_but_keys() {
        let keys = ["sk-ant-api03-A1b2C3d4E5f6".into(), "short".into()];
        let redactor = KeyRedactor::new(&keys);
        assert_eq!(redactor.redact("KEY=sk-ant-api03-A1b2C3d4E5f6\n"), Some("KEY=[redacted]\n".into()));
        assert_eq!(redactor.redact("a part: b2C3d4E5"), Some("a part: [redacted]".into()));
        let encoded = STANDARD_NO_PAD.encode("user:sk-ant-api03-A1b2C3d4E5f6");
        assert!(redactor.redact(&encoded).is_some_and(|told| told.contains(REDACTED)));
        let counted = KeyRedactor::new(&["sk-0123456789abcdef".into()]);
        let numbers = (1..=60).map(|number| format!("{number}\n")).collect::<String>();
        assert_eq!(counted.redact(&numbers), None);
        for text in ["", "short", "keys begin with sk-ant-api03-", "\x1b[31mred\x1b[0m\r\n"] {
            assert_eq!(redactor.redact(text), None, "{text}");
        }
        assert_eq!(KeyRedactor::default().redact("sk-ant-api03-A1b2C3d4E5f6"), None);
        assert!(!format!("{redactor:?}").contains("A1b2"));
    }

    const LONG: &str = "sk-ant-api03-A1b2C3d4E5f6G7h8I9j0";

    #[track_caller]
    fn check_result(text: &str, expect: &str) {
        let redactor = KeyRedactor::new(&[LONG.into()]);
        assert_eq!(redactor.redact(text).as_deref(), Some(expect), "{text:?}");
    }

    /// Returns the key with this text after every four characters.
    fn split_by(text: &str) -> String {
        let chars: Vec<char> = LONG.chars().collect();
        let parts: Vec<String> = chars.chunks(4).map(|part| part.iter().collect()).collect();
        parts.join(text)
    }

    #[test]
    fn results_contain_no_key_split_by_invisible_characters() {
        let splits = [
            "\x01",
            "\x1b[0m",
            "\x1b[1 q",
            "\x1b]0;a title\x07",
            "\u{9b}31m",
            "\r",
            "\x0b",
            "\u{200b}",
            "\u{ad}",
            "\u{200d}",
            "\u{fe0f}",
            "\u{fffd}",
            "\u{2028}",
            "\u{e0041}",
        ];
        for split in splits {
            check_result(&format!("key: {} end", split_by(split)), "key: [redacted] end");
        }
        check_result(&format!("\x1b]0;{LONG}\x07 end"), "\x1b]0;[redacted]\x07 end");
    }

    #[test]
    fn details_contain_no_escaped_key() {
        let redactor = KeyRedactor::new(&[LONG.into()]);
        let split = split_by("\x1b[0m");
        for value in [serde_json::json!({"diff": [split]}), serde_json::json!({split: 1})] {
            assert!(redactor.is_in_json(&value.to_string()), "{value}");
        }
        assert!(!redactor.is_in_json(r#"{"diff": ["sk-ant-api03-", 1, true, null]}"#));
    }

    proptest! {
        #[test]
        fn no_part_of_a_key_remains(
            key in "[A-Za-z0-9_-]{8,40}", before in "\\PC{0,20}", after in "\\PC{0,20}", at in 0_usize..40,
            control in "[\\x00-\\x08\\x7f\\u{80}-\\u{8f}]{0,3}",
        ) {
            let mut redactor = SecretRedactor::default();
            redactor.add_key(&key);
            let (head, tail) = key.split_at(at.min(key.len()));
            let told = redactor.apply(&format!("{before}{head}{control}{tail}{after}"));
            let told = told.replace(REDACTED, "\u{1}");
            prop_assert!(key.as_bytes().windows(8).all(|part| {
                !told.contains(std::str::from_utf8(part).unwrap())
            }), "{told:?}");
        }
    }
}
