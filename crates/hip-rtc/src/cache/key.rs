use std::fmt;

use sha2::{Digest, Sha256};

/// What an entry is found by: a SHA-256 of everything the compiled image depends on.
///
/// ```
/// use hip_rtc::cache::Key;
///
/// let key = Key::builder()
///     .text("source", "extern \"C\" __global__ void f() {}")
///     .text("option", "-O3")
///     .number("driver", 12_080)
///     .finish();
/// assert_eq!(key.to_string().len(), 64);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; Key::LEN]);

impl Key {
    pub(super) const LEN: usize = 32;

    /// A key without parts yet.
    pub fn builder() -> KeyBuilder {
        // Builds whose files differ in format never meet under one name, so that two versions of
        // this library can share a folder without removing each other's entries.
        KeyBuilder(Sha256::new()).number("format", super::entry::FORMAT.into())
    }

    pub(super) fn as_bytes(&self) -> &[u8; Key::LEN] {
        &self.0
    }
}

impl fmt::Display for Key {
    /// 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Makes a [`Key`] of labelled parts.
///
/// Type, label and value of each part are hashed with their lengths, and in order: other parts give
/// another key, however their texts are cut.
#[derive(Debug, Clone)]
#[must_use = "a key is what `finish` gives"]
pub struct KeyBuilder(Sha256);

impl KeyBuilder {
    /// Adds a text.
    pub fn text(self, label: &str, value: &str) -> KeyBuilder {
        self.part(b't', label, value.as_bytes())
    }

    /// Adds bytes.
    pub fn bytes(self, label: &str, value: &[u8]) -> KeyBuilder {
        self.part(b'b', label, value)
    }

    /// Adds a number.
    pub fn number(self, label: &str, value: u64) -> KeyBuilder {
        self.part(b'n', label, &value.to_le_bytes())
    }

    /// The key of the parts so far.
    pub fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }

    fn part(mut self, kind: u8, label: &str, value: &[u8]) -> KeyBuilder {
        self.0.update([kind]);
        for bytes in [label.as_bytes(), value] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn other_parts_give_another_key() {
        let keys = [
            Key::builder(),
            Key::builder().text("", ""),
            Key::builder().text("a", "b"),
            Key::builder().text("ab", ""),
            Key::builder().text("", "ab"),
            Key::builder().bytes("a", b"b"),
            Key::builder().text("a", "b").text("", ""),
            Key::builder().text("a", "b").text("c", "d"),
            Key::builder().text("c", "d").text("a", "b"),
            Key::builder().text("a", "bc").text("", "d"),
            Key::builder().number("n", 1),
            Key::builder().number("n", 256),
            Key::builder().bytes("n", &1u64.to_le_bytes()),
        ]
        .map(KeyBuilder::finish);
        assert_eq!(HashSet::from(keys).len(), keys.len());
    }

    /// Against `hashlib.sha256` of Python's over the same parts.
    #[test]
    fn a_key_is_the_same_in_every_process() {
        let key = Key::builder().text("source", "x").number("n", 7).finish();
        assert_eq!(
            key.to_string(),
            "1bfa3f6a646ca7826ed575998392ff6276421d7b5eba1c60c363781a71015681"
        );
    }
}
