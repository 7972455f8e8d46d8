//! Reads MessagePack (msgpack.org, "spec.md"), in which AMD's code objects describe themselves.

/// A value; types that code objects do not use are not told apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    /// Nil, a float, an extension: nothing that is asked for.
    Other,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// A list.
    List(Vec<Value<'a>>),
    /// Pairs.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

/// Lists and maps in lists and maps, at most.
const DEPTH: u32 = 16;

impl<'a> Value<'a> {
    /// Reads the one value that `bytes` are.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Value<'a>> {
        let mut reader = Reader(bytes);
        let value = reader.value(DEPTH)?;
        reader.0.is_empty().then_some(value)
    }

    /// The value of a key in a map.
    pub(super) fn get(&self, key: &str) -> Option<&Value<'a>> {
        let Value::Map(pairs) = self else { return None };
        pairs
            .iter()
            .find(|(name, _)| *name == Value::Text(key))
            .map(|(_, value)| value)
    }

    /// As text.
    pub(super) fn text(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// As a size.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Value::Int(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    /// As a list.
    pub(super) fn list(&self) -> Option<&[Value<'a>]> {
        match self {
            Value::List(list) => Some(list),
            _ => None,
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A big-endian number of so many bytes.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    fn size(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.number(bytes)?).ok()
    }

    fn text(&mut self, size: usize) -> Option<Value<'a>> {
        std::str::from_utf8(self.take(size)?).ok().map(Value::Text)
    }

    fn other(&mut self, size: usize) -> Option<Value<'a>> {
        self.take(size).map(|_| Value::Other)
    }

    fn list(&mut self, count: usize, depth: u32) -> Option<Value<'a>> {
        let depth = depth.checked_sub(1)?;
        (0..count)
            .map(|_| self.value(depth))
            .collect::<Option<_>>()
            .map(Value::List)
    }

    fn map(&mut self, count: usize, depth: u32) -> Option<Value<'a>> {
        let depth = depth.checked_sub(1)?;
        let pair = |_| Some((self.value(depth)?, self.value(depth)?));
        (0..count).map(pair).collect::<Option<_>>().map(Value::Map)
    }

    fn value(&mut self, depth: u32) -> Option<Value<'a>> {
        let tag = self.take(1)?[0];
        match tag {
            0x00..=0x7f => Some(Value::Int(i64::from(tag))),
            0x80..=0x8f => self.map(usize::from(tag & 15), depth),
            0x90..=0x9f => self.list(usize::from(tag & 15), depth),
            0xa0..=0xbf => self.text(usize::from(tag & 31)),
            0xc2 | 0xc3 => Some(Value::Bool(tag == 0xc3)),
            0xc4..=0xc6 => {
                let size = self.size(1 << (tag - 0xc4))?;
                self.other(size)
            }
            0xc7..=0xc9 => {
                let size = self.size(1 << (tag - 0xc7))?;
                self.other(size.checked_add(1)?)
            }
            0xca => self.other(4),
            0xcb => self.other(8),
            0xcc..=0xcf => {
                let number = self.number(1 << (tag - 0xcc))?;
                i64::try_from(number).ok().map(Value::Int)
            }
            0xd0..=0xd3 => {
                let bytes = 1 << (tag - 0xd0);
                let shift = 64 - 8 * bytes as u32;
                let number = self.number(bytes)?;
                Some(Value::Int(((number << shift) as i64) >> shift))
            }
            0xd4..=0xd8 => self.other(1 + (1 << (tag - 0xd4))),
            0xd9..=0xdb => {
                let size = self.size(1 << (tag - 0xd9))?;
                self.text(size)
            }
            0xdc | 0xdd => {
                let count = self.size(2 << (tag - 0xdc))?;
                self.list(count, depth)
            }
            0xde | 0xdf => {
                let count = self.size(2 << (tag - 0xde))?;
                self.map(count, depth)
            }
            0xc0 | 0xc1 => Some(Value::Other),
            0xe0..=0xff => Some(Value::Int(i64::from(tag as i8))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let bytes = b"\x85\xa1a\x07\xa1b\xd1\xff\xfe\xa1c\x93\xc2\xc0\xca0000\xd9\x01d\xcd\x01\x70\xa1e\xc7\x02\x05xy";
        let value = Value::read(bytes).unwrap();
        assert_eq!(value.get("a").and_then(Value::size), Some(7));
        assert_eq!(value.get("b"), Some(&Value::Int(-2)));
        let list = [Value::Bool(false), Value::Other, Value::Other];
        assert_eq!(value.get("c").and_then(Value::list), Some(&list[..]));
        assert_eq!(value.get("d").and_then(Value::size), Some(0x170));
        assert_eq!(value.get("e"), Some(&Value::Other));
        assert_eq!(value.get("f"), None);
    }

    #[test]
    fn damaged_values_are_none() {
        let deep = [0x91_u8; 100];
        for bytes in [
            &b""[..],
            b"\xa3ab",
            b"\x92\x01",
            b"\xdf\xff\xff\xff\xff",
            b"\x01\x02",
            &deep,
        ] {
            assert_eq!(Value::read(bytes), None, "{bytes:x?}");
        }
    }
}
