//! The volumes of a set, one after the other.
//!
//! First those that the plan names, in their order; then again from the first one on, as with one drive whose tapes
//! are changed: from there on, and after any volume that was the wrong one or could not be opened once the names are used
//! up, the next one has to be made ready by a program or a person. Volumes are counted from 1, or from the number in a
//! file that keeps count over several runs. This room says which file is next; it does not open it.

mod script;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Complaint, Condition, Error, Operation, VolumeFault};
use crate::member::Format;
use crate::observe::{Operator, Prepared};
use crate::plan::{Archive, Job, MultiVolume, Volume};
use crate::sys::KeptDescriptor;

/// The name of a volume, for messages.
#[must_use]
pub fn name(volume: Option<&Volume>) -> Vec<u8> {
    match volume {
        Some(Volume::File(path)) => path.as_os_str().as_bytes().to_vec(),
        _ => b"-".to_vec(),
    }
}

/// A set of volumes while it is read.
pub struct Set {
    volumes: Vec<Volume>,
    /// Which of them is being read.
    at: usize,
    /// All names were used: every further volume has to be made ready.
    used_up: bool,
    /// The number of the volume that is being read.
    number: u64,
    change: MultiVolume,
    operator: Option<Box<dyn Operator>>,
    record_bytes: usize,
    umask: u32,
    job: Job,
    /// The last volume was refused.
    refused: bool,
    /// What the program brought when it was refused: the same again would be refused for ever.
    refused_from_script: Option<Volume>,
    /// Through which the program says a name.
    place: Option<KeptDescriptor>,
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Set")
            .field("volumes", &self.volumes)
            .field("at", &self.at)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Set {
    /// The set that a plan describes, at its first volume.
    ///
    /// # Errors
    /// The file with the volume's number cannot be read or holds none.
    pub fn new(
        archive: &Archive,
        change: &MultiVolume,
        job: Job,
        umask: u32,
        operator: Option<Box<dyn Operator>>,
    ) -> Result<Self, Error> {
        let number = match &change.number_file {
            Some(path) => read_number(path)?,
            None => 1,
        };
        let place = match &change.script {
            Some(script) => {
                let taken = KeptDescriptor::take();
                Some(taken.map_err(|cause| Error::System {
                    operation: Operation::Execute,
                    name: script.command.clone(),
                    cause,
                })?)
            }
            None => None,
        };
        Ok(Self {
            volumes: archive.volumes.clone(),
            at: 0,
            used_up: false,
            number,
            change: change.clone(),
            operator,
            record_bytes: archive.record_bytes,
            umask,
            job,
            refused: false,
            refused_from_script: None,
            place,
        })
    }

    /// The volume that is being read, or that is next to be opened.
    #[must_use]
    pub fn current(&self) -> Option<&Volume> {
        self.volumes.get(self.at)
    }

    /// The next volume is wanted: makes it ready. `format` is that of the last header.
    ///
    /// # Errors
    /// There is no further one, or the program that was to bring it failed.
    pub fn advance(&mut self, format: Format) -> Result<(), Error> {
        if !std::mem::take(&mut self.refused) {
            self.number += 1;
            self.refused_from_script = None;
        }
        self.at += 1;
        if self.at >= self.volumes.len() {
            self.at = 0;
            self.used_up = true;
        }
        if self.used_up {
            self.make_ready(format)?;
        }
        Ok(())
    }

    /// The volume cannot be opened: says so, and has it, or another one, made ready.
    ///
    /// # Errors
    /// As [`Set::advance`].
    pub fn cannot_open(&mut self, cause: io::Error, format: Format) -> Result<(), Error> {
        let name = name(self.current());
        self.say(&Complaint::warning(
            &name,
            Condition::Volume(VolumeFault::Open(cause)),
        ));
        self.make_ready(format)
    }

    /// Passes on what is wrong with the volume that is being read.
    pub fn remark(&mut self, complaint: &Complaint) {
        self.say(complaint);
        self.refused |= !matches!(complaint.condition, Condition::Volume(VolumeFault::NameCut));
    }

    fn say(&mut self, complaint: &Complaint) {
        if let Some(operator) = &mut self.operator {
            operator.remark(complaint);
        }
    }

    fn make_ready(&mut self, format: Format) -> Result<(), Error> {
        let name = name(self.current());
        let found = if let Some(script) = &self.change.script {
            if let Some(path) = &self.change.number_file {
                write_number(path, self.number - 1, self.umask)?;
            }
            if let Some(operator) = &mut self.operator {
                operator.before_program();
            }
            let wanted = script::Wanted {
                number: self.number,
                name: &name,
                record_bytes: self.record_bytes,
                job: self.job,
                format,
            };
            let Some(place) = &mut self.place else {
                return Err(Error::NoVolume(self.number));
            };
            script::run(script, &wanted, place)?
        } else {
            let answer = self.operator.as_mut().map_or(Prepared::None, |operator| {
                operator.prepare(self.number, &name)
            });
            match answer {
                Prepared::Ready => None,
                Prepared::Named(name) => Some(name),
                Prepared::None => return Err(Error::NoVolume(self.number)),
            }
        };
        if let Some(name) = found {
            let volume = match &name[..] {
                b"-" => Volume::Standard,
                name => Volume::File(PathBuf::from(std::ffi::OsStr::from_bytes(name))),
            };
            if let Some(place) = self.volumes.get_mut(self.at) {
                *place = volume;
            }
        }
        if self.change.script.is_some() {
            let brought = self.current().cloned();
            if self.refused_from_script.is_some() && brought == self.refused_from_script {
                self.refuse_script_again()?;
            }
            self.refused_from_script = brought;
        }
        Ok(())
    }

    /// A program that brings what was refused would do so for ever.
    fn refuse_script_again(&self) -> Result<(), Error> {
        match (&self.change.script, &self.refused_from_script) {
            (Some(script), Some(_)) => Err(Error::VolumeScript(script.command.clone())),
            _ => Ok(()),
        }
    }

    /// Keeps the number for the next run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        match &self.change.number_file {
            Some(path) => write_number(path, self.number, self.umask),
            None => Ok(()),
        }
    }
}

/// The number in a file that keeps count; 1 when there is no such file yet.
fn read_number(path: &Path) -> Result<u64, Error> {
    let name = path.as_os_str().as_bytes();
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(1),
        Err(cause) => {
            return Err(Error::System {
                operation: Operation::Open,
                name: name.to_vec(),
                cause,
            });
        }
    };
    std::str::from_utf8(&text)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .filter(|&number: &u64| number > 0 && number < u64::from(u32::MAX))
        .ok_or_else(|| Error::VolumeNumber(name.to_vec()))
}

fn write_number(path: &Path, number: u64, umask: u32) -> Result<(), Error> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o666 & !umask)
        .open(path);
    let written = file.and_then(|mut file| file.write_all(format!("{number}\n").as_bytes()));
    written.map_err(|cause| Error::System {
        operation: Operation::Open,
        name: path.as_os_str().as_bytes().to_vec(),
        cause,
    })
}

#[cfg(test)]
mod tests;
