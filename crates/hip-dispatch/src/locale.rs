//! What is called as if the program had set no locale. The compilers read numbers with the C
//! library's functions: under a decimal comma `0.5f` would end at its point. The loader says in the
//! user's language that a file is not there, which must be told from other reasons.

/// The "C" locale on this thread until it is dropped.
#[cfg(all(unix, not(miri)))]
pub(crate) struct CLocale {
    own: libc::locale_t,
    previous: libc::locale_t,
}

#[cfg(all(unix, not(miri)))]
impl CLocale {
    pub(crate) fn enter() -> CLocale {
        let null = std::ptr::null_mut();
        // SAFETY: the name is a C string; a null base asks for a new locale.
        let own = unsafe { libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), null) };
        // SAFETY: a locale that was just made, or null, which only asks for the current one.
        let previous = unsafe { libc::uselocale(own) };
        CLocale { own, previous }
    }
}

#[cfg(all(unix, not(miri)))]
impl Drop for CLocale {
    fn drop(&mut self) {
        if self.own.is_null() {
            return;
        }
        // SAFETY: what was in use before on this thread, which the guard cannot leave (locale_t is a
        // raw pointer); `own` is in use nowhere afterwards.
        unsafe {
            libc::uselocale(self.previous);
            libc::freelocale(self.own);
        }
    }
}

/// Windows' C runtime has a locale a thread only where a program asks for it.
#[cfg(not(all(unix, not(miri))))]
pub(crate) struct CLocale;

#[cfg(not(all(unix, not(miri))))]
impl CLocale {
    pub(crate) fn enter() -> CLocale {
        CLocale
    }
}

#[cfg(all(test, unix, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn the_threads_locale_comes_back() {
        let null = std::ptr::null_mut();
        // SAFETY: null only asks.
        let before = unsafe { libc::uselocale(null) };
        let guard = CLocale::enter();
        // SAFETY: as above.
        let within = unsafe { libc::uselocale(null) };
        assert_ne!(within, before);
        drop(guard);
        // SAFETY: as above.
        assert_eq!(unsafe { libc::uselocale(null) }, before);
    }
}
