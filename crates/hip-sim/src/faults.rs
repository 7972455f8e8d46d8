//! Calls that fail on demand.

use crate::code::{Code, OUT_OF_MEMORY, UNKNOWN};

/// `name:n[:thread][=code]`: the `n`-th call (from 1) of `name` fails, counted on threads whose name
/// contains `thread`; `n+` lets every later one fail too. Code 0 lets it
/// succeed without doing anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    name: String,
    nth: u64,
    later_too: bool,
    thread: String,
    code: Code,
    seen: u64,
}

impl Fault {
    /// Faults separated by commas; an error says which is wrong.
    pub fn parse_all(text: &str) -> Result<Vec<Fault>, String> {
        text.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| {
                Fault::parse(part)
                    .ok_or_else(|| format!("{part} is not name:n[:thread][=code], n from 1"))
            })
            .collect()
    }

    fn parse(text: &str) -> Option<Fault> {
        let (head, code) = match text.split_once('=') {
            Some((head, code)) => (head, Some(code.trim().parse::<Code>().ok()?)),
            None => (text, None),
        };
        let mut parts = head.splitn(3, ':').map(str::trim);
        let (name, nth) = (parts.next()?, parts.next()?);
        let thread = parts.next().unwrap_or_default().to_owned();
        let (nth, later_too) = nth
            .strip_suffix('+')
            .map_or((nth, false), |nth| (nth, true));
        let nth: u64 = nth.parse().ok()?;
        let gives_memory = ["Alloc", "Malloc", "Create"]
            .iter()
            .any(|word| name.contains(word));
        let usual = if gives_memory { OUT_OF_MEMORY } else { UNKNOWN };
        (!name.is_empty() && nth > 0).then(|| Fault {
            name: name.to_owned(),
            nth,
            later_too,
            thread,
            code: code.unwrap_or(usual),
            seen: 0,
        })
    }

    /// Counts a call; the code with which it fails, if it does.
    pub fn strike(&mut self, name: &str, thread: &str) -> Option<Code> {
        if self.name != name || !thread.contains(&self.thread) {
            return None;
        }
        self.seen += 1;
        let hit = self.seen == self.nth || self.later_too && self.seen > self.nth;
        hit.then_some(self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_call_on_the_thread_fails() {
        let mut faults = Fault::parse_all("f:2:src=7, g:1+").unwrap();
        let [f, g] = &mut faults[..] else {
            panic!("two faults")
        };
        let struck = [
            f.strike("f", "src"),
            f.strike("f", "sink"),
            f.strike("g", "src"),
            f.strike("f", "my-src-2"),
            f.strike("f", "src"),
        ];
        assert_eq!(struck, [None, None, None, Some(7), None]);
        assert_eq!([0; 3].map(|_| g.strike("g", "")), [Some(UNKNOWN); 3]);
        let mut memory = Fault::parse_all("cuMemAlloc_v2:1").unwrap();
        assert_eq!(memory[0].strike("cuMemAlloc_v2", ""), Some(OUT_OF_MEMORY));
    }

    #[test]
    fn wrong_faults_are_errors() {
        for text in ["f", "f:0", "f:x", ":1", "f:1=x"] {
            assert!(Fault::parse_all(text).is_err(), "{text}");
        }
        assert_eq!(Fault::parse_all(" , "), Ok(vec![]));
    }
}
