//! Names for what is counted: functions, paths, owners, kinds and programs, numbered as they are met.
//!
//! Must not know: files, what intervals hold.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use anyhow::{Context, Error, Result, ensure};
use rusqlite::{Connection, params};

use super::{
    bounds,
    rows::{self, hex, unhex},
    tallies,
};
use crate::{
    batch::{CountKey, Frame, Owner, Path},
    tally::TallyKey,
};

/// The numbers given so far, for writing.
#[derive(Default)]
pub(super) struct Numbers {
    frames: HashMap<Frame, i64>,
    paths: HashMap<u64, i64>,
    owners: HashMap<u64, i64>,
    kinds: HashMap<CountKey, i64>,
    programs: HashMap<(String, String), i64>,
    tallies: HashMap<TallyKey, i64>,
}

impl Numbers {
    /// Writes a path announced in `interval`; whether for the first time. One announced again gets the new frames.
    pub(super) fn announce_path(&mut self, db: &Connection, interval: u64, path: &Path) -> Result<bool> {
        let Path { key, addresses, frames, truncated } = path;
        let id = self.path(db, *key)?;
        let first = db
            .prepare_cached("UPDATE paths SET interval = ?2 WHERE id = ?1 AND interval IS NULL")?
            .execute(params![id, interval])?;
        db.prepare_cached("UPDATE paths SET truncated = ?2 WHERE id = ?1")?.execute(params![id, truncated])?;
        db.prepare_cached("DELETE FROM path_frames WHERE path = ?1")?.execute([id])?;
        for position in 0..addresses.len().max(frames.len()) {
            let address = addresses.get(position).map(|address| hex(*address));
            let frame = frames.get(position).map(|frame| self.frame(db, frame)).transpose()?;
            db.prepare_cached("INSERT INTO path_frames VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![id, position, address, frame])?;
        }
        Ok(first > 0)
    }

    /// Writes an owner announced in `interval`; whether for the first time. One announced again gets the new name.
    pub(super) fn announce_owner(&mut self, db: &Connection, interval: u64, owner: &Owner) -> Result<bool> {
        let Owner { key, name } = owner;
        let id = self.owner(db, *key)?;
        let first = db
            .prepare_cached("UPDATE owners SET interval = ?2 WHERE id = ?1 AND interval IS NULL")?
            .execute(params![id, interval])?;
        db.prepare_cached("UPDATE owners SET name = ?2 WHERE id = ?1")?.execute(params![id, name])?;
        Ok(first > 0)
    }

    pub(super) fn kind(&mut self, db: &Connection, key: &CountKey) -> Result<i64> {
        if let Some(id) = self.kinds.get(key) {
            return Ok(*id);
        }
        let CountKey { path, owner, user_path, gfp, order, migratetype, failed } = *key;
        let path = (path != 0).then(|| self.path(db, path)).transpose()?;
        let owner = (owner != 0).then(|| self.owner(db, owner)).transpose()?;
        let user_path = (user_path != 0).then(|| self.path(db, user_path)).transpose()?;
        let id = next(self.kinds.len());
        db.prepare_cached("INSERT INTO kinds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(params![
            id,
            path,
            owner,
            user_path,
            gfp,
            order,
            migratetype,
            failed
        ])?;
        self.kinds.insert(*key, id);
        Ok(id)
    }

    pub(super) fn tally(&mut self, db: &Connection, key: &TallyKey) -> Result<i64> {
        if let Some(id) = self.tallies.get(key) {
            return Ok(*id);
        }
        let path = (key.path != 0).then(|| self.path(db, key.path)).transpose()?;
        let id = next(self.tallies.len());
        db.prepare_cached("INSERT INTO tallies VALUES (?1, ?2, ?3, ?4)")?.execute(params![
            id,
            tallies::kind_name(key)?,
            key.detail,
            path
        ])?;
        self.tallies.insert(*key, id);
        Ok(id)
    }

    pub(super) fn program(&mut self, db: &Connection, signal: &str, hook: &str) -> Result<i64> {
        let sql = "INSERT INTO programs VALUES (?1, ?2, ?3)";
        let key = (signal.to_owned(), hook.to_owned());
        number(&mut self.programs, key, |id| db.prepare_cached(sql)?.execute(params![id, signal, hook]))
    }

    fn frame(&mut self, db: &Connection, frame: &Frame) -> Result<i64> {
        if let Some(id) = self.frames.get(frame) {
            return Ok(*id);
        }
        let sql = "INSERT INTO frames VALUES (?1, ?2, ?3)";
        let Frame { name, module } = frame;
        number(&mut self.frames, frame.clone(), |id| db.prepare_cached(sql)?.execute(params![id, name, module]))
    }

    pub(super) fn path(&mut self, db: &Connection, key: u64) -> Result<i64> {
        let sql = "INSERT INTO paths VALUES (?1, ?2, NULL, 0)";
        number(&mut self.paths, key, |id| db.prepare_cached(sql)?.execute(params![id, hex(key)]))
    }

    fn owner(&mut self, db: &Connection, key: u64) -> Result<i64> {
        let sql = "INSERT INTO owners VALUES (?1, ?2, NULL, '')";
        number(&mut self.owners, key, |id| db.prepare_cached(sql)?.execute(params![id, hex(key)]))
    }
}

/// The number of `key`, written by `insert` when it is new.
fn number<K: std::hash::Hash + Eq>(
    numbers: &mut HashMap<K, i64>,
    key: K,
    insert: impl FnOnce(i64) -> rusqlite::Result<usize>,
) -> Result<i64> {
    let id = next(numbers.len());
    match numbers.entry(key) {
        Entry::Occupied(known) => Ok(*known.get()),
        Entry::Vacant(new) => {
            insert(id)?;
            Ok(*new.insert(id))
        }
    }
}

/// Numbers run from 1 on.
fn next(known: usize) -> i64 {
    i64::try_from(known).expect("a map in memory has fewer than 2^63 entries") + 1
}

/// What the numbers stand for, for reading; as far as it could be read.
#[derive(Default)]
pub(super) struct Names {
    /// Paths by the interval in which they were announced, in order.
    pub(super) paths: BTreeMap<u64, Vec<Path>>,
    /// Owners, likewise.
    pub(super) owners: BTreeMap<u64, Vec<Owner>>,
    kinds: Vec<CountKey>,
    programs: Vec<(String, String)>,
    tallies: Vec<TallyKey>,
}

impl Names {
    /// Reads them all. On damage keeps those before it, and says what it was.
    pub(super) fn read(db: &Connection) -> (Self, Option<Error>) {
        let mut names = Self::default();
        let mut path_keys = Vec::new();
        let mut owner_keys = Vec::new();
        // A table that breaks off leaves the later ones shorter too, and the intervals that need what is missing.
        let damage = [
            names.read_paths(db, &mut path_keys).context("table `paths`").err(),
            names.read_owners(db, &mut owner_keys).context("table `owners`").err(),
            names.read_kinds(db, &path_keys, &owner_keys).context("table `kinds`").err(),
            names.read_programs(db).context("table `programs`").err(),
            names.read_tallies(db, &path_keys).context("table `tallies`").err(),
        ];
        (names, damage.into_iter().flatten().next())
    }

    pub(super) fn kind(&self, id: u64) -> Result<CountKey> {
        named(&self.kinds, id).copied().with_context(|| format!("there is no kind {id}"))
    }

    pub(super) fn tally(&self, id: u64) -> Result<TallyKey> {
        named(&self.tallies, id).copied().with_context(|| format!("there is no tally {id}"))
    }

    pub(super) fn program(&self, id: u64) -> Result<(String, String)> {
        named(&self.programs, id).cloned().with_context(|| format!("there is no program {id}"))
    }

    fn read_paths(&mut self, db: &Connection, keys: &mut Vec<u64>) -> Result<()> {
        let mut frames = Vec::new();
        let frames_damage = rows::each(db, "SELECT id, name, module FROM frames ORDER BY 1", [], |row| {
            in_order(row.get(0)?, frames.len())?;
            frames.push(Frame { name: row.get(1)?, module: row.get(2)? });
            Ok(())
        })
        .context("table `frames`");
        let sql = "SELECT position, address, frame FROM path_frames WHERE path = ?1 ORDER BY 1";
        rows::each(db, "SELECT id, key, interval, truncated FROM paths ORDER BY 1", [], |row| {
            let id: u64 = row.get(0)?;
            in_order(id, keys.len())?;
            let key = unhex(&row.get::<_, String>(1)?)?;
            let mut path = Path { key, truncated: row.get(3)?, ..Path::default() };
            let lines = rows::list(db, "path_frames", sql, params![id], |row| {
                let address: Option<String> = row.get(1)?;
                Ok((address.map(|address| unhex(&address)).transpose()?, row.get::<_, Option<u64>>(2)?))
            })?;
            for (position, (address, frame)) in lines.into_iter().enumerate() {
                if let Some(address) = address {
                    ensure!(path.addresses.len() == position, "path {id} lacks an address");
                    path.addresses.push(address);
                }
                if let Some(frame) = frame {
                    ensure!(path.frames.len() == position, "path {id} lacks a frame");
                    let frame = named(&frames, frame).with_context(|| format!("there is no frame {frame}"))?;
                    path.frames.push(frame.clone());
                }
            }
            keys.push(key);
            if let Some(interval) = row.get(2)? {
                self.paths.entry(interval).or_default().push(path);
            }
            Ok(())
        })?;
        frames_damage
    }

    fn read_owners(&mut self, db: &Connection, keys: &mut Vec<u64>) -> Result<()> {
        rows::each(db, "SELECT id, key, interval, name FROM owners ORDER BY 1", [], |row| {
            in_order(row.get(0)?, keys.len())?;
            let key = unhex(&row.get::<_, String>(1)?)?;
            keys.push(key);
            if let Some(interval) = row.get(2)? {
                self.owners.entry(interval).or_default().push(Owner { key, name: row.get(3)? });
            }
            Ok(())
        })
    }

    fn read_kinds(&mut self, db: &Connection, paths: &[u64], owners: &[u64]) -> Result<()> {
        let key_of = |keys: &[u64], id: Option<u64>| match id {
            None => Ok(0),
            Some(id) => named(keys, id).copied().with_context(|| format!("there is no path or owner {id}")),
        };
        let sql = "SELECT id, path, owner, user_path, gfp, page_order, migratetype, failed FROM kinds ORDER BY 1";
        rows::each(db, sql, [], |row| {
            in_order(row.get(0)?, self.kinds.len())?;
            let order = row.get(5)?;
            ensure!(order <= bounds::MAX_ORDER, "order {order} is no kernel's");
            self.kinds.push(CountKey {
                path: key_of(paths, row.get(1)?)?,
                owner: key_of(owners, row.get(2)?)?,
                user_path: key_of(paths, row.get(3)?)?,
                gfp: row.get(4)?,
                order,
                migratetype: row.get(6)?,
                failed: row.get(7)?,
            });
            Ok(())
        })
    }

    fn read_tallies(&mut self, db: &Connection, paths: &[u64]) -> Result<()> {
        rows::each(db, "SELECT id, kind, detail, path FROM tallies ORDER BY 1", [], |row| {
            in_order(row.get(0)?, self.tallies.len())?;
            let path = match row.get::<_, Option<u64>>(3)? {
                None => 0,
                Some(id) => named(paths, id).copied().with_context(|| format!("there is no path {id}"))?,
            };
            let kind = tallies::kind(&row.get::<_, String>(1)?)?;
            self.tallies.push(TallyKey { kind, detail: row.get(2)?, path });
            Ok(())
        })
    }

    fn read_programs(&mut self, db: &Connection) -> Result<()> {
        rows::each(db, "SELECT id, signal, hook FROM programs ORDER BY 1", [], |row| {
            in_order(row.get(0)?, self.programs.len())?;
            self.programs.push((row.get(1)?, row.get(2)?));
            Ok(())
        })
    }
}

fn in_order(id: u64, known: usize) -> Result<()> {
    ensure!(usize::try_from(id).is_ok_and(|id| id == known + 1), "id {id} where {} should be", known + 1);
    Ok(())
}

/// What number `id`, counted from 1, stands for.
fn named<T>(values: &[T], id: u64) -> Option<&T> {
    values.get(usize::try_from(id.checked_sub(1)?).ok()?)
}
