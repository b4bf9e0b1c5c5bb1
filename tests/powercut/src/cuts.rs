//! Which moments to cut at, and what is found after each.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::Member;
use crate::compare::{self, Loss};
use crate::disk::{Cut, Event, Recording, Replay};
use crate::random::Random;
use crate::record::{DEST, Spec};
use crate::rig::{Result, Rig};

/// What was promised when, read from a recording.
#[derive(Debug)]
pub(crate) struct Promises {
    /// For each promised member the event after which it must be there.
    pub(crate) since: BTreeMap<usize, usize>,
    /// The event of the tool's successful end.
    pub(crate) exit: usize,
}

impl Promises {
    pub(crate) fn read(recording: &Recording, members: &[Member]) -> Result<Self> {
        let index: BTreeMap<&[u8], usize> = members
            .iter()
            .enumerate()
            .map(|(index, member)| (&member.name[..], index))
            .collect();
        let mut since = BTreeMap::new();
        let mut exit = recording.events.len();
        // A name counts once its end is there.
        let mut name = Vec::new();
        for (at, event) in recording.events.iter().enumerate() {
            match event {
                Event::Promise(bytes) => {
                    for byte in bytes {
                        if *byte != 0 {
                            name.push(*byte);
                            continue;
                        }
                        let known = index.get(name.strip_suffix(b"/").unwrap_or(&name));
                        let member = known.ok_or_else(|| {
                            format!("{} was promised, but is no member", name.escape_ascii())
                        })?;
                        since.entry(*member).or_insert(at);
                        name.clear();
                    }
                }
                Event::Exit => exit = at,
                _ => {}
            }
        }
        Ok(Self { since, exit })
    }

    /// Which members must be there after a cut.
    fn required(&self, spec: &Spec, position: usize) -> Vec<bool> {
        let all = position > self.exit && self.exit_means_all(spec);
        let mut required = vec![all; spec.members];
        for member in self
            .since
            .iter()
            .filter(|(_, at)| **at < position)
            .map(|(member, _)| *member)
        {
            required[member] = true;
        }
        required
    }

    /// A control promises only what it names. What promised nothing is measured at its end.
    fn exit_means_all(&self, spec: &Spec) -> bool {
        spec.tool.promises_all() || !spec.tool.promises()
    }
}

/// So many cuts: at the last promise before every barrier with nothing kept that was not flushed, which shows small lies;
/// then at random, most of them when something is promised. Without promises, all at the end.
pub(crate) fn choose(
    spec: &Spec,
    recording: &Recording,
    promises: &Promises,
    count: usize,
) -> Vec<Cut> {
    let mut random = Random::new(spec.seed);
    let end = recording.events.len();
    let exit = (promises.exit + 1).min(end);
    let mut cuts = BTreeSet::from([Cut {
        position: exit,
        keep: 0,
    }]);
    let mut promised = None;
    let mut barriers = Vec::new();
    for (at, event) in recording.events.iter().enumerate() {
        match event {
            Event::Promise(_) => promised = Some(at + 1),
            Event::Flush => barriers.extend(promised.take()),
            _ => {}
        }
    }
    barriers.extend(promised);
    while barriers.len() > count.div_ceil(2) {
        barriers.swap_remove(random.below(barriers.len() as u64) as usize);
    }
    cuts.extend(
        barriers
            .into_iter()
            .map(|position| Cut { position, keep: 0 }),
    );
    let first = promises
        .since
        .values()
        .min()
        .map_or(exit, |first| first + 1);
    while cuts.len() < count {
        let from = match random.below(4) {
            _ if promises.since.is_empty() => exit,
            0 => 0,
            // What is being replaced must be whole at any time.
            1 if spec.must_not_mix() => 0,
            1 => exit,
            _ => first,
        };
        let position = from + random.below((end - from) as u64 + 1) as usize;
        cuts.insert(Cut {
            position,
            keep: if random.percent(20) {
                0
            } else {
                random.next() | 1
            },
        });
    }
    cuts.into_iter().collect()
}

/// What was found after a cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) promised: usize,
    pub(crate) after_exit: bool,
    pub(crate) losses: Vec<Loss>,
    /// Files that are neither old nor new.
    pub(crate) mixtures: Vec<Loss>,
    /// The file system cannot be mounted or its checker complains.
    pub(crate) damage: Option<String>,
}

impl Found {
    /// Whether all is as this tool has to leave it.
    pub(crate) fn is_good(&self, spec: &Spec) -> bool {
        let kept = self.losses.is_empty() || !spec.tool.must_keep();
        let pure = self.mixtures.is_empty() || !spec.must_not_mix();
        kept && pure && self.damage.is_none()
    }
}

/// Cuts in the order of their positions, mounting and comparing after each.
#[derive(Debug)]
pub(crate) struct Cutter<'a> {
    spec: &'a Spec,
    promises: &'a Promises,
    new: Vec<Member>,
    old: Option<Vec<Member>>,
    replay: Replay<'a>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(spec: &'a Spec, recording: &'a Recording, promises: &'a Promises) -> Self {
        Self {
            spec,
            promises,
            new: spec.new_members(),
            old: spec.old_members(),
            replay: Replay::new(recording),
        }
    }

    pub(crate) fn cut(&mut self, rig: &mut Rig, cut: Cut) -> Result<Found> {
        let required = self.promises.required(self.spec, cut.position);
        let promised = required.iter().filter(|required| **required).count();
        let mut found = Found {
            promised,
            after_exit: cut.position > self.promises.exit,
            ..Found::default()
        };
        rig.state().image = self.replay.after(cut);
        rig.attach()?;
        match rig.mount(self.spec.file_system) {
            Ok(()) => {
                let dest = rig.root().join(DEST);
                let complete = promised == self.new.len();
                found.losses = compare::losses(&dest, &self.new, &required, complete);
                if let Some(old) = &self.old {
                    found.mixtures = compare::mixtures(&dest, old, &self.new);
                }
                rig.unmount()?;
                found.damage = rig.check(self.spec.file_system).err();
            }
            Err(cause) => {
                let lost = (0..self.new.len()).filter(|index| required[*index]);
                let what = "the file system cannot be mounted".to_owned();
                found.losses = lost
                    .map(|member| Loss {
                        member,
                        what: what.clone(),
                    })
                    .collect();
                found.damage = Some(cause);
            }
        }
        rig.detach()?;
        Ok(found)
    }

    /// A member's name, for people.
    pub(crate) fn name(&self, loss: &Loss) -> String {
        self.new[loss.member].name.escape_ascii().to_string()
    }
}
