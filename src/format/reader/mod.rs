//! The parser: blocks in, members out.
//!
//! Everything is decided header by header, because real archives mix formats. Extension headers (pax `x`, `X` and `g`,
//! GNU `L` and `K`, sparse maps, lists of incremental archives) are read here and folded into the member that they
//! belong to; headers that nobody follows are loops, not calls, so a chain of them costs nothing but time.
//!
//! Where an archive is broken this does what GNU tar does: a block that is no header starts a search for the next one;
//! two zero blocks end the archive, so does one (with a warning), so does the end of the input between members. A
//! member whose data or header is cut off ends the run with an error. A sparse map that makes no sense costs its member
//! only.
//!
//! Sizes in the headers of links, directories, devices and FIFOs mean nothing: old tars filled the field in without
//! writing data. But where the field holds no number the header cannot be trusted, whatever it is of. A hard link is believed to have data only if a pax `size` says so or if what follows is no header.

use std::collections::VecDeque;
use std::io;

use tar::Header;

mod fold;
mod volume;

use super::header::{self, Verdict};
use super::limits::{self, BLOCK};
use super::number;
use super::pax::{Overrides, Scope};
use super::source::Source;
use crate::error::{Complaint, Condition, Error, Operation, Severity};
use crate::member::{Event, Format, Kind, Member, MemberStream, Record, Timestamp};

/// Pieces of large members end on a multiple of this many bytes: a page, and a block of most file systems.
const PAGE: usize = 4096;

/// How an archive is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Zero blocks do not end the archive.
    pub ignore_zeros: bool,
    /// The archive is a set of volumes: where one ends the source is asked for the next.
    pub volumes: bool,
    /// The archive's name, for errors.
    pub name: Vec<u8>,
}

/// Reads the members of a tar archive of any format that [`Format`] names.
#[derive(Debug)]
pub struct Reader<S> {
    source: S,
    options: Options,
    /// Bytes of the archive that have been taken from the source.
    at: u64,
    /// Bytes of the current member's data that can still be handed out.
    left: u64,
    /// Bytes of its data that follow them and that nobody is to see.
    more: u64,
    /// Bytes from there to the next header.
    padding: u64,
    /// Complaints that go out before the next member does.
    complaints: VecDeque<Complaint>,
    /// A member that waits for the complaints before it.
    ready: Option<Box<Member>>,
    /// Number of the zero block that ended the archive.
    end_marker: Option<u64>,
    /// Whether anything was a header or a zero block.
    valid: bool,
    /// Block number at which the search for a header began.
    gap: Option<u64>,
    over: Over,
    /// The error that ended it, until it has been given.
    error: Option<Error>,
    global: Overrides,
    has_global: bool,
    global_complaints: usize,
    /// What the extension headers before the next member say.
    ahead: Ahead,
    /// The body of an extension header; kept for its memory.
    body: Vec<u8>,
    /// The format of the last member.
    format: Format,
    /// What further volumes are compared with.
    set: volume::Set,
}

/// How a stream has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    No,
    End,
    NotAnArchive,
    UnexpectedEnd(u64),
    NoVolume(u64),
    /// The source gives its error again.
    Failed,
}

/// Extension headers wait here for the member they belong to.
#[derive(Debug, Default)]
struct Ahead {
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    /// Blocks of the last header of each kind that gave them.
    long_blocks: [u64; 2],
    pax: Option<Box<Overrides>>,
    suntar: bool,
    /// What was wrong with them; said with the member's name when that is known.
    notes: Vec<(Condition, Severity)>,
}

impl Ahead {
    fn note(&mut self, condition: Condition, severity: Severity) {
        if self.notes.len() < limits::COMPLAINTS {
            self.notes.push((condition, severity));
        }
    }

    fn fail(&mut self, what: String) {
        self.note(Condition::BadExtension(what), Severity::Failure);
    }
}

/// What a step through the archive came to.
enum Step {
    /// A member is in `ready`, or complaints wait.
    Something,
    /// The archive is at its end.
    End,
}

impl<S: Source> Reader<S> {
    /// Reads the archive that `source` gives.
    pub fn new(source: S, options: Options) -> Self {
        Self {
            source,
            options,
            at: 0,
            left: 0,
            more: 0,
            padding: 0,
            complaints: VecDeque::new(),
            ready: None,
            valid: false,
            gap: None,
            over: Over::No,
            error: None,
            global: Overrides::default(),
            has_global: false,
            global_complaints: 0,
            end_marker: None,
            ahead: Ahead::default(),
            body: Vec::new(),
            format: Format::V7,
            set: volume::Set::default(),
        }
    }

    /// Records of the global headers so far that are about the archive as a whole or all of its members.
    #[must_use]
    pub fn globals(&self) -> &[Record] {
        &self.global.records
    }

    /// Number of the next 512-byte block, from 0; after the end, of the block behind the end marker.
    #[must_use]
    pub fn block(&self) -> u64 {
        self.at / BLOCK as u64
    }

    /// Number of the zero block that ended the archive.
    #[must_use]
    pub fn end_marker(&self) -> Option<u64> {
        self.end_marker
    }

    /// Gives the source back.
    pub fn into_source(self) -> S {
        self.source
    }

    /// Takes what is left in the source after the end of the archive, so that whoever fills it (a decompressor at the
    /// other end of a pipe) can finish.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn drain(&mut self) -> Result<(), Error> {
        const STEP: u64 = 1 << 30;
        while self.skip_bytes(STEP)? == STEP {}
        Ok(())
    }

    fn look(&mut self, n: usize) -> Result<&[u8], Error> {
        let name = &self.options.name;
        self.source
            .at_least(n)
            .map_err(|cause| cannot_read(name, cause))
    }

    fn take(&mut self, n: usize) {
        self.source.consume(n);
        self.at += n as u64;
    }

    fn skip_bytes(&mut self, n: u64) -> Result<u64, Error> {
        let skipped = self
            .source
            .skip(n)
            .map_err(|cause| cannot_read(&self.options.name, cause))?;
        self.at += skipped;
        Ok(skipped)
    }

    /// Passes over `n` bytes that have to be there.
    fn skip(&mut self, n: u64) -> Result<(), Error> {
        let mut left = n;
        while left > 0 {
            left -= self.skip_bytes(left)?;
            if left > 0 && !self.next_volume()? {
                return Err(self.unexpected_end());
            }
        }
        Ok(())
    }

    fn unexpected_end(&self) -> Error {
        Error::UnexpectedEnd {
            block: self.at / BLOCK as u64,
        }
    }

    /// The next block, if there is a whole one.
    fn next_block(&mut self) -> Result<Option<[u8; BLOCK]>, Error> {
        Ok(self.look(BLOCK)?.first_chunk::<BLOCK>().copied())
    }

    /// A block that has to be there, taken.
    fn needed_block(&mut self) -> Result<[u8; BLOCK], Error> {
        loop {
            if let Some(block) = self.next_block()? {
                self.take(BLOCK);
                return Ok(block);
            }
            if !self.next_volume()? {
                return Err(self.unexpected_end());
            }
        }
    }

    /// Hands out `data` bytes, then passes over `more` and the padding of both.
    fn set_data(&mut self, data: u64, more: u64) {
        self.left = data;
        self.more = more;
        self.padding = padding(data + more);
    }

    /// Passes over what is left of the member's data, also on further volumes.
    fn skip_data(&mut self) -> Result<(), Error> {
        while self.left + self.more + self.padding > 0 {
            let mut passed = self.skip_bytes(self.left + self.more + self.padding)?;
            for part in [&mut self.left, &mut self.more, &mut self.padding] {
                let of_it = passed.min(*part);
                *part -= of_it;
                passed -= of_it;
            }
            if self.left + self.more + self.padding > 0 && !self.next_volume()? {
                return Err(self.unexpected_end());
            }
        }
        Ok(())
    }

    /// Goes on until there is something to hand out.
    fn step(&mut self) -> Result<Step, Error> {
        loop {
            self.skip_data()?;
            let Some(block) = self.next_block()? else {
                if self.valid && self.look(1)?.is_empty() && self.next_volume()? {
                    continue;
                }
                return self.input_ended();
            };
            let number = self.block();
            match header::examine(&block) {
                Verdict::Zero => {
                    self.take(BLOCK);
                    if let Some(end) = self.zero_block(number)? {
                        return Ok(end);
                    }
                }
                Verdict::Other => {
                    self.open_gap(number);
                    self.take(BLOCK);
                }
                Verdict::Header => {
                    self.close_gap();
                    self.valid = true;
                    self.take(BLOCK);
                    self.header(&block, number)?;
                }
            }
            if self.ready.is_some() || !self.complaints.is_empty() {
                return Ok(Step::Something);
            }
        }
    }

    fn open_gap(&mut self, block: u64) {
        // What stood before cannot belong to what comes after.
        self.forget_ahead();
        self.gap.get_or_insert(block);
    }

    fn close_gap(&mut self) {
        if let Some(block) = self.gap.take() {
            self.complaints
                .push_back(Complaint::failure(b"", Condition::BadHeader(block)));
        }
    }

    /// Extension headers that no member follows.
    fn forget_ahead(&mut self) {
        let ahead = std::mem::take(&mut self.ahead);
        self.notes_out(b"", ahead.notes);
    }

    fn notes_out(&mut self, member: &[u8], notes: Vec<(Condition, Severity)>) {
        for (condition, severity) in notes {
            self.complaints.push_back(Complaint {
                member: member.to_vec(),
                condition,
                severity,
            });
        }
    }

    /// No whole block is left.
    fn input_ended(&mut self) -> Result<Step, Error> {
        if !self.valid {
            self.close_gap();
            return Err(Error::NotAnArchive);
        }
        // Part of a block between members is padding of the device, as GNU tar takes it.
        self.close_gap();
        self.forget_ahead();
        Ok(Step::End)
    }

    /// After one zero block, which has this number.
    fn zero_block(&mut self, number: u64) -> Result<Option<Step>, Error> {
        if self.gap.is_some() && !self.valid {
            self.close_gap();
            return Err(Error::NotAnArchive);
        }
        self.valid = true;
        self.close_gap();
        self.forget_ahead();
        if self.options.ignore_zeros {
            return Ok(None);
        }
        self.end_marker = Some(number);
        match self.next_block()? {
            Some(block) if header::examine(&block) == Verdict::Zero => self.take(BLOCK),
            _ => self
                .complaints
                .push_back(Complaint::warning(b"", Condition::LoneZeroBlock(number))),
        }
        Ok(Some(Step::End))
    }

    /// After a good header, which has been taken.
    fn header(&mut self, block: &[u8; BLOCK], number: u64) -> Result<(), Error> {
        let view = Header::from_byte_slice(block);
        let typeflag = header::typeflag(view);
        if !matches!(typeflag, b'x' | b'X' | b'g' | b'L' | b'K') {
            return self.member(block, number);
        }
        let Some(size) = header::size(view) else {
            // Where its body ends is not known: the next header has to be searched for.
            self.ahead.note(bad_size(view), Severity::Failure);
            self.open_gap(number);
            return Ok(());
        };
        let blocks = 1 + size.div_ceil(BLOCK as u64);
        match typeflag {
            b'L' => {
                self.ahead.long_blocks[0] = blocks;
                self.long_name(size, |ahead| &mut ahead.long_name)
            }
            b'K' => {
                self.ahead.long_blocks[1] = blocks;
                self.long_name(size, |ahead| &mut ahead.long_link)
            }
            b'g' => {
                let mtime = header::decode(block).member.mtime;
                self.global_header(size, number, mtime)
            }
            _ => {
                self.ahead.suntar |= typeflag == b'X';
                self.extended_header(size)
            }
        }
    }

    fn extended_header(&mut self, size: u64) -> Result<(), Error> {
        if !self.read_body(size, limits::PAX_HEADER)? {
            self.ahead.fail(too_many(size));
            return Ok(());
        }
        let mut pax = self.ahead.pax.take().unwrap_or_default();
        let notes = &mut self.ahead;
        pax.take(Scope::Member, &self.body, |what| notes.fail(what));
        self.ahead.pax = Some(pax);
        Ok(())
    }

    fn global_header(&mut self, size: u64, number: u64, mtime: Timestamp) -> Result<(), Error> {
        let is_read = self.read_body(size, limits::PAX_HEADER)?;
        let (complaints, said) = (&mut self.complaints, &mut self.global_complaints);
        let mut complain = |what| {
            if *said < limits::COMPLAINTS {
                *said += 1;
                complaints.push_back(Complaint::failure(b"", Condition::BadExtension(what)));
            }
        };
        if !is_read {
            complain(too_many(size));
            return Ok(());
        }
        self.global.take(Scope::Global, &self.body, complain);
        self.has_global = true;
        // A map is of one file; for all of them it makes no sense.
        self.global.sparse = None;
        let volume = std::mem::take(&mut self.global.volume);
        let global = std::mem::take(&mut self.global);
        self.note_volume(&global);
        self.global = global;
        if let Some(label) = volume.label.filter(|label| !label.is_empty()) {
            // GNU tar shows a label that stands in a global header as a member of its own.
            let mut member = Box::new(Member::new(Kind::VolumeHeader, &label));
            member.typeflag = b'g';
            member.format = Format::Pax;
            member.mode = 0;
            member.mtime = mtime;
            member.block = number;
            self.ready = Some(member);
        }
        Ok(())
    }

    /// Takes the name in the body of a GNU `L` or `K` header; of several the last one counts.
    fn long_name(
        &mut self,
        size: u64,
        place: impl FnOnce(&mut Ahead) -> &mut Option<Vec<u8>>,
    ) -> Result<(), Error> {
        // The body ends in a NUL.
        if !self.read_body(size, limits::NAME as u64 + 1)? {
            self.ahead.fail(too_many(size));
            return Ok(());
        }
        let name = header::text(&self.body);
        if !name.is_empty() {
            *place(&mut self.ahead) = Some(name.to_vec());
        }
        Ok(())
    }

    /// Reads `size` bytes and their padding into `body`; passes over them and gives false when that is above `limit`.
    fn read_body(&mut self, size: u64, limit: u64) -> Result<bool, Error> {
        self.body.clear();
        if self.body.capacity() > limits::PIECE {
            self.body = Vec::new();
        }
        if size > limit {
            self.skip(size)?;
            self.skip(padding(size))?;
            return Ok(false);
        }
        let most = self.source.limit().clamp(BLOCK, limits::PIECE);
        let mut left = size as usize;
        while left > 0 {
            let want = left.min(most);
            let seen = self
                .source
                .at_least(want)
                .map_err(|cause| cannot_read(&self.options.name, cause))?;
            let there = want.min(seen.len());
            self.body.extend_from_slice(&seen[..there]);
            self.take(there);
            left -= there;
            if there < want && !self.next_volume()? {
                return Err(self.unexpected_end());
            }
        }
        self.skip(padding(size))?;
        Ok(true)
    }
}

impl<S: Source> MemberStream for Reader<S> {
    type Span = S::Span;

    fn advance(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(complaint) = self.complaints.pop_front() {
                return Ok(Event::Complaint(complaint));
            }
            if let Some(member) = self.ready.take() {
                return Ok(Event::Member(member));
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            match self.over {
                Over::No => {}
                Over::End => return Ok(Event::End),
                Over::NotAnArchive => return Err(Error::NotAnArchive),
                Over::UnexpectedEnd(block) => return Err(Error::UnexpectedEnd { block }),
                Over::NoVolume(number) => return Err(Error::NoVolume(number)),
                // The source gives its error again.
                Over::Failed => {
                    self.look(BLOCK)?;
                    return Err(self.unexpected_end());
                }
            }
            match self.step() {
                Ok(Step::Something) => {}
                Ok(Step::End) => self.over = Over::End,
                Err(error) => {
                    // What was found out before the end is said first.
                    self.close_gap();
                    self.forget_ahead();
                    self.failed(&error);
                    self.error = Some(error);
                }
            }
        }
    }

    fn data(&mut self, most: usize) -> Result<Option<S::Span>, Error> {
        if self.left == 0 || self.ready.is_some() || !self.complaints.is_empty() {
            return Ok(None);
        }
        if let Over::UnexpectedEnd(block) = self.over {
            return Err(Error::UnexpectedEnd { block });
        }
        let (want, most) = self.piece(most);
        let seen = match self.seen_data(want) {
            Ok(seen) => seen.min(most),
            Err(error) => {
                self.failed(&error);
                return Err(error);
            }
        };
        let n = match seen as u64 {
            all if all >= self.left => self.left as usize,
            // What is not the last piece ends on a page, so that the writes of all pieces are aligned.
            _ if seen > PAGE => seen - seen % PAGE,
            _ => seen,
        };
        let span = self.source.span(n);
        self.at += n as u64;
        self.left -= n as u64;
        Ok(Some(span))
    }

    fn would_wait(&self) -> bool {
        if self.ready.is_some() || !self.complaints.is_empty() {
            return false;
        }
        let next = if self.left > 0 {
            self.piece(usize::MAX).0 as u64
        } else {
            self.more + self.padding + BLOCK as u64
        };
        let limit = self.source.limit();
        self.source
            .would_wait(usize::try_from(next).map_or(limit, |next| next.min(limit)))
    }

    fn before_sleep(&mut self, hook: Box<dyn FnMut()>) {
        self.source.before_sleep(hook);
    }
}

impl<S: Source> Reader<S> {
    /// How many bytes of data to wait for, and how many to give at most: all that is left if it fits in one piece.
    fn piece(&self, most: usize) -> (usize, usize) {
        let most = most.clamp(1, self.source.limit());
        match usize::try_from(self.left) {
            Ok(left) if left <= most => (left, left),
            _ => (most.min(limits::PIECE), most),
        }
    }

    /// Waits for `want` bytes of data; gives how many are there, fewer only at the end of a volume and never none.
    fn seen_data(&mut self, want: usize) -> Result<usize, Error> {
        loop {
            match self.look(want)?.len() {
                0 if self.next_volume()? => {}
                0 => return Err(self.unexpected_end()),
                seen => return Ok(seen),
            }
        }
    }

    fn failed(&mut self, error: &Error) {
        self.over = match error {
            Error::NotAnArchive => Over::NotAnArchive,
            Error::UnexpectedEnd { block } => Over::UnexpectedEnd(*block),
            Error::NoVolume(number) => Over::NoVolume(*number),
            _ => Over::Failed,
        };
    }
}

/// What is said when the size of a member, or of an extension header, is not known.
fn bad_size(header: &Header) -> Condition {
    Condition::BadNumber("size", number::fault(&header.as_old().size))
}

fn too_many(size: u64) -> String {
    format!("{size} bytes are too many")
}

/// From `size` bytes to the end of their last block.
fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

/// A filter's error travels through `Read` inside an `io::Error`.
fn cannot_read(name: &[u8], cause: io::Error) -> Error {
    match cause.downcast::<Error>() {
        Ok(error) => error,
        Err(cause) => Error::System {
            operation: Operation::Read,
            name: name.to_vec(),
            cause,
        },
    }
}
