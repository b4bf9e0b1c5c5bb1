//! The memory of the ring, seen twice in a row.
//!
//! The byte at offset `i` is also the byte at `i + len`, so a range that begins anywhere in the first half and is not
//! longer than `len` is contiguous, and nobody has to move a residue to the front. The kernel does it: the same shared
//! pages mapped two times into one reserved piece of address space. A mapping is a whole number of pages, so `len` is at
//! least what was asked for; how much of it may be filled is the business of the ring.
//!
//! Under loom and miri, which know no mappings, the memory is a plain allocation of twice the length, and what is
//! written in one half is copied to the other by [`Memory::written`] before it is published. loom cannot watch plain
//! memory, so there each byte has a cell beside it that is touched whenever the byte is.
//!
//! What ranges may be touched by whom, and when, is not known here; it is the contract of the unsafe functions, kept by
//! `ring.rs`.
#![allow(unsafe_code, reason = "the double mapping is what this module is for")]

#[cfg(not(any(loom, miri)))]
pub(crate) use mapped::Memory;
#[cfg(any(loom, miri))]
pub(crate) use plain::Memory;

#[cfg(not(any(loom, miri)))]
mod mapped {
    use std::io;
    use std::ptr::{self, NonNull};

    #[derive(Debug)]
    pub(crate) struct Memory {
        base: NonNull<u8>,
        len: usize,
    }

    // SAFETY: the mapping belongs to this value alone and may be used and unmapped from any thread.
    unsafe impl Send for Memory {}
    // SAFETY: `&Memory` gives access to the bytes only through unsafe functions whose callers answer for the order.
    unsafe impl Sync for Memory {}

    impl Memory {
        /// Zeroed memory of at least `size` bytes, not 0.
        pub(crate) fn new(size: usize) -> io::Result<Memory> {
            let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
            let len = size
                .checked_next_multiple_of(page_size())
                .ok_or_else(too_large)?;
            let both = len
                .checked_mul(2)
                .filter(|both| isize::try_from(*both).is_ok())
                .ok_or_else(too_large)?;

            // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
            let base = unsafe {
                libc::mmap(
                    ptr::null_mut(),
                    both,
                    libc::PROT_NONE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // From here on dropping `memory` unmaps the whole reservation, whatever lies in it.
            let memory = Memory {
                base: NonNull::new(base.cast()).expect("mmap without MAP_FIXED never gives page 0"),
                len,
            };
            // SAFETY: the first half of the reservation, which is ours and unused so far.
            let first = unsafe {
                libc::mmap(
                    base,
                    len,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if first == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // An old length of 0 asks for the same pages a second time (mremap(2)). A memory file would do as well, but
            // a limit on the size of files (`ulimit -f`) holds for those.
            // SAFETY: the second half of the reservation, likewise; nothing is moved away from the first.
            let second = unsafe {
                libc::mremap(
                    base,
                    0,
                    len,
                    libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                    base.byte_add(len),
                )
            };
            if second == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(memory)
        }

        /// The distance after which the bytes come again.
        pub(crate) fn len(&self) -> usize {
            self.len
        }

        /// # Safety
        ///
        /// Nobody writes to these bytes while the slice lives, and earlier writes happened before this call.
        pub(crate) unsafe fn bytes(&self, offset: usize, n: usize) -> &[u8] {
            assert!(offset < self.len && n <= self.len);
            // SAFETY: in the mapping by the line above, initialised since new pages read as zeros, and the
            // caller answers for writers.
            unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset), n) }
        }

        /// # Safety
        ///
        /// Nobody else reads or writes these bytes, through either half, while the slice lives, and whatever others
        /// did to them before happened before this call.
        #[allow(clippy::mut_from_ref, reason = "exclusive by contract")]
        pub(crate) unsafe fn bytes_mut(&self, offset: usize, n: usize) -> &mut [u8] {
            assert!(offset < self.len && n <= self.len);
            // SAFETY: as in `bytes`, and the caller answers for the slice being the only one.
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset), n) }
        }

        /// Makes what was written through one half visible in the other: the mapping does that by itself.
        ///
        /// # Safety
        ///
        /// As for [`Memory::bytes_mut`].
        pub(crate) unsafe fn written(&self, _offset: usize, _n: usize) {}
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            // SAFETY: exactly what `new` reserved, and no slice outlives the value it borrows from. It cannot fail
            // for a range that is mapped, and there would be nobody to tell.
            unsafe { libc::munmap(self.base.as_ptr().cast(), 2 * self.len) };
        }
    }

    fn page_size() -> usize {
        // SAFETY: asks for a number.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).expect("POSIX requires a page size")
    }
}

#[cfg(any(loom, miri))]
mod plain {
    use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
    use std::io;
    use std::ptr::NonNull;

    #[derive(Debug)]
    pub(crate) struct Memory {
        base: NonNull<u8>,
        len: usize,
        #[cfg(loom)]
        cells: Vec<loom::cell::UnsafeCell<()>>,
    }

    // SAFETY: the allocation belongs to this value alone.
    unsafe impl Send for Memory {}
    // SAFETY: `&Memory` gives access to the bytes only through unsafe functions whose callers answer for the order.
    unsafe impl Sync for Memory {}

    impl Memory {
        pub(crate) fn new(size: usize) -> io::Result<Memory> {
            let layout =
                Memory::layout(size).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
            // SAFETY: the ring is never empty, so neither is the layout.
            let base = NonNull::new(unsafe { alloc_zeroed(layout) });
            Ok(Memory {
                base: base.unwrap_or_else(|| handle_alloc_error(layout)),
                len: size,
                #[cfg(loom)]
                cells: (0..size).map(|_| loom::cell::UnsafeCell::new(())).collect(),
            })
        }

        fn layout(len: usize) -> Option<Layout> {
            Layout::array::<u8>(len.checked_mul(2)?).ok()
        }

        pub(crate) fn len(&self) -> usize {
            self.len
        }

        /// # Safety
        ///
        /// As for the mapped memory.
        pub(crate) unsafe fn bytes(&self, offset: usize, n: usize) -> &[u8] {
            assert!(offset < self.len && n <= self.len);
            #[cfg(loom)]
            for i in offset..offset + n {
                self.cells[i % self.len].with(|_| ());
            }
            // SAFETY: in the allocation by the assertion; the caller answers for writers.
            unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset), n) }
        }

        /// # Safety
        ///
        /// As for the mapped memory.
        #[allow(clippy::mut_from_ref, reason = "exclusive by contract")]
        pub(crate) unsafe fn bytes_mut(&self, offset: usize, n: usize) -> &mut [u8] {
            assert!(offset < self.len && n <= self.len);
            #[cfg(loom)]
            for i in offset..offset + n {
                self.cells[i % self.len].with_mut(|_| ());
            }
            // SAFETY: in the allocation by the assertion; the caller answers for the slice being the only one.
            unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset), n) }
        }

        /// # Safety
        ///
        /// As for the mapped memory.
        pub(crate) unsafe fn written(&self, offset: usize, n: usize) {
            assert!(offset < self.len && n <= self.len);
            for i in offset..offset + n {
                #[cfg(loom)]
                self.cells[i % self.len].with_mut(|_| ());
                let twin = if i < self.len {
                    i + self.len
                } else {
                    i - self.len
                };
                // SAFETY: both lie in the allocation, and both are the caller's alone.
                unsafe { *self.base.as_ptr().add(twin) = *self.base.as_ptr().add(i) };
            }
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            let layout = Memory::layout(self.len).expect("it was computed before");
            // SAFETY: allocated by `new` with the same layout.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}
