CREATE TABLE meta (
    -- About this file. This table keeps its shape whatever PRAGMA user_version becomes.
    key TEXT PRIMARY KEY,           -- tracer: the version of tracer that wrote the file
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE host (
    -- The machine traced; one row.
    kernel TEXT NOT NULL,           -- uname -r
    machine TEXT NOT NULL,          -- uname -m
    cpus INTEGER NOT NULL,          -- online
    page_size INTEGER NOT NULL,     -- bytes
    max_order INTEGER NOT NULL      -- largest order of the page allocator
);

CREATE TABLE run (
    -- What was asked for; one row.
    started_unix_ns INTEGER NOT NULL, -- hooks attached, ns since 1970, UTC
    by TEXT,                        -- what owners are: comm, pid or cgroup; NULL: counts are not kept by owner
    paths_way TEXT NOT NULL,        -- remembered, unwound, sampled or off
    paths_one_in INTEGER NOT NULL,  -- for sampled: one path in so many events
    paths_reason TEXT NOT NULL,     -- why no better way was taken
    gfp_source TEXT NOT NULL        -- where gfp_flags came from
);

CREATE TABLE argv (
    -- The command run, program first; no rows without a command.
    position INTEGER PRIMARY KEY,
    argument TEXT NOT NULL
);

CREATE TABLE filters (
    -- Filters applied in the kernel.
    position INTEGER PRIMARY KEY,
    filter TEXT NOT NULL
);

CREATE TABLE signals (
    -- Every signal and the hook that served it.
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    hook TEXT,                      -- NULL: missing
    status TEXT NOT NULL,           -- attached, degraded or missing
    note TEXT NOT NULL              -- what is lost on this hook
);

CREATE TABLE refused (
    -- Better hooks, best first, and why they were not taken.
    signal INTEGER NOT NULL REFERENCES signals (id),
    position INTEGER NOT NULL,
    hook TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (signal, position)
) WITHOUT ROWID;

CREATE TABLE gfp_flags (
    -- The traced kernel's names of gfp flags in the order in which it tries them: an earlier mask takes its bits.
    position INTEGER PRIMARY KEY,
    mask INTEGER NOT NULL,
    name TEXT NOT NULL
);

CREATE TABLE migratetypes (
    -- The traced kernel's names of migrate types.
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);

CREATE TABLE intervals (
    -- Spans of about a second, without gaps, from 1 on; each was committed as a whole.
    id INTEGER PRIMARY KEY,
    from_ns INTEGER NOT NULL,       -- since the hooks were attached
    to_ns INTEGER NOT NULL,
    paths INTEGER NOT NULL,         -- paths first met
    owners INTEGER NOT NULL,        -- owners first met
    kinds INTEGER NOT NULL,         -- rows in counts
    events INTEGER NOT NULL         -- sum of their events, failed allocations among them
);

CREATE TABLE frames (
    -- Functions on paths.
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    module TEXT                     -- NULL: the kernel itself
);

CREATE TABLE paths (
    -- Paths to the page allocator, kernel's and, with --user-stacks, user's.
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,              -- identity within this run, 0x and 16 digits
    interval INTEGER REFERENCES intervals (id), -- first met; NULL: counted, but its frames never came
    truncated INTEGER NOT NULL      -- 1: the stack was deeper than what was read
);

CREATE TABLE path_frames (
    -- The frames of paths, innermost (position 0) first.
    path INTEGER NOT NULL REFERENCES paths (id),
    position INTEGER NOT NULL,
    address TEXT,                   -- return address, 0x and 16 digits
    frame INTEGER REFERENCES frames (id), -- NULL: not named
    PRIMARY KEY (path, position)
) WITHOUT ROWID;

CREATE TABLE owners (
    -- Whose events they were (run.by says what a name is).
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,              -- identity within this run, 0x and 16 digits
    interval INTEGER REFERENCES intervals (id), -- first met; NULL: counted, but its name never came
    name TEXT NOT NULL
);

CREATE TABLE kinds (
    -- What tells allocations apart.
    id INTEGER PRIMARY KEY,
    path INTEGER REFERENCES paths (id),      -- NULL: the path was not taken
    owner INTEGER REFERENCES owners (id),    -- NULL: not kept
    user_path INTEGER REFERENCES paths (id), -- NULL: not taken, or none
    gfp INTEGER NOT NULL,           -- flags as the kernel had them
    page_order INTEGER NOT NULL,
    migratetype INTEGER NOT NULL,
    failed INTEGER NOT NULL         -- 1: failed allocations
);

CREATE TABLE counts (
    -- Events of one kind within one interval; kinds without any have no row.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    kind INTEGER NOT NULL REFERENCES kinds (id),
    events INTEGER NOT NULL,
    PRIMARY KEY (interval, kind)
) WITHOUT ROWID;

CREATE TABLE order_totals (
    -- Exact totals by order since the run began, at the end of an interval. NULL: not measured.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    page_order INTEGER NOT NULL,
    allocated INTEGER NOT NULL,     -- successful allocations
    failed INTEGER NOT NULL,        -- failed ones
    freed INTEGER,                  -- frees
    refilled INTEGER,               -- taken under the zone lock to refill a per-CPU list
    direct INTEGER,                 -- served directly under the zone lock
    drained INTEGER,                -- drained from per-CPU lists
    PRIMARY KEY (interval, page_order)
) WITHOUT ROWID;

CREATE TABLE losses (
    -- What was lost since the run began, at the end of an interval.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    cause TEXT NOT NULL,
    events INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    without_path INTEGER NOT NULL,  -- 1: in order_totals, but without a path; 0: in no sum
    PRIMARY KEY (interval, cause)
) WITHOUT ROWID;

CREATE TABLE loss_orders (
    -- The same by order, where the order is known.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    cause TEXT NOT NULL,
    page_order INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (interval, cause, page_order)
) WITHOUT ROWID;

CREATE TABLE programs (
    -- tracer's own programs in the kernel.
    id INTEGER PRIMARY KEY,
    signal TEXT NOT NULL,
    hook TEXT NOT NULL
);

CREATE TABLE program_stats (
    -- Their figures since the run began, at the end of an interval. NULL: the kernel did not measure it.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    position INTEGER NOT NULL,
    program INTEGER NOT NULL REFERENCES programs (id),
    run_count INTEGER,
    run_time_ns INTEGER,
    missed INTEGER NOT NULL,        -- events at which it did not run, being in use on that CPU
    PRIMARY KEY (interval, position)
) WITHOUT ROWID;

CREATE TABLE lookups (
    -- How the paths of events were found since the run began; no rows when none are taken.
    interval INTEGER PRIMARY KEY REFERENCES intervals (id),
    hits INTEGER NOT NULL,          -- remembered
    unwound INTEGER NOT NULL,       -- hits + unwound: events whose path was taken
    evicted INTEGER NOT NULL,       -- remembered keys thrown out for others
    unremembered INTEGER NOT NULL   -- of unwound: paths that could not be remembered
);

CREATE TABLE audit (
    -- Remembered paths unwound again since the run began; no rows without an audit.
    interval INTEGER PRIMARY KEY REFERENCES intervals (id),
    checked INTEGER NOT NULL,
    disagreed INTEGER NOT NULL
);

CREATE TABLE tallies (
    -- What tells events apart that are no page allocations.
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,             -- kmalloc_large, fragment, bulk, reclaim, compaction, charge and so on
    detail INTEGER NOT NULL,        -- by kind: order, protocol and direction, reason
    path INTEGER REFERENCES paths (id) -- NULL: the path was not taken
);

CREATE TABLE tally_counts (
    -- Events of one tally within one interval, and what they add up to.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    tally INTEGER NOT NULL REFERENCES tallies (id),
    events INTEGER NOT NULL,
    first INTEGER NOT NULL,         -- by kind: bytes asked for, ns, pages
    second INTEGER NOT NULL,        -- by kind: bytes given, pages reclaimed, bytes needed
    third INTEGER NOT NULL,         -- by kind: bytes charged beyond need
    PRIMARY KEY (interval, tally)
) WITHOUT ROWID;

CREATE TABLE distributions (
    -- Latencies and sizes within one interval.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    name TEXT NOT NULL,             -- what, with its unit
    sum INTEGER NOT NULL,           -- of the values
    least INTEGER NOT NULL,         -- since the run began
    largest INTEGER NOT NULL,       -- likewise
    PRIMARY KEY (interval, name)
) WITHOUT ROWID;

CREATE TABLE distribution_buckets (
    -- How many of the values lay in a bucket, which is at most an eighth as wide as its lowest value.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    name TEXT NOT NULL,
    lowest INTEGER NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (interval, name, lowest)
) WITHOUT ROWID;

CREATE TABLE sockets (
    -- Sockets seen within an interval, as they were last; counts are those since the run began.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    key TEXT NOT NULL,              -- identity within this run, 0x and 16 digits
    protocol TEXT NOT NULL,
    local TEXT NOT NULL,            -- address and port
    remote TEXT NOT NULL,           -- empty: none
    pid INTEGER,                    -- NULL: no process was found that holds it
    comm TEXT NOT NULL,
    rmem_alloc INTEGER NOT NULL,    -- bytes in the receive queue
    rcvbuf INTEGER NOT NULL,        -- its limit
    wmem_queued INTEGER NOT NULL,   -- bytes in the send queue
    sndbuf INTEGER NOT NULL,        -- its limit
    forward_alloc INTEGER NOT NULL, -- bytes charged in advance
    reserved INTEGER NOT NULL,      -- bytes reserved
    charges INTEGER NOT NULL,       -- slow-path charges
    refused INTEGER NOT NULL,       -- of which refused
    rcvqueue_full INTEGER NOT NULL, -- datagrams dropped here
    PRIMARY KEY (interval, key)
) WITHOUT ROWID;

CREATE TABLE drops (
    -- Packets dropped since the run began by the kernel's reason, at the end of an interval in which some were.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    reason TEXT NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (interval, reason)
) WITHOUT ROWID;

CREATE TABLE tally_losses (
    -- Events lost since the run began that are in no tally, at the end of an interval.
    interval INTEGER NOT NULL REFERENCES intervals (id),
    cause TEXT NOT NULL,
    events INTEGER NOT NULL,
    PRIMARY KEY (interval, cause)
) WITHOUT ROWID;

CREATE TABLE events (
    -- Single page allocations (record --events), as the ring buffer gave them.
    interval INTEGER NOT NULL REFERENCES intervals (id), -- read in
    time_ns INTEGER NOT NULL,       -- of the monotonic clock
    cpu INTEGER NOT NULL,
    pid INTEGER NOT NULL,           -- process of the task that ran
    tid INTEGER NOT NULL,           -- its thread
    comm TEXT NOT NULL,
    page_order INTEGER NOT NULL,
    migratetype INTEGER NOT NULL,
    gfp INTEGER NOT NULL,
    failed INTEGER NOT NULL,        -- 1: no page was given
    path INTEGER REFERENCES paths (id) -- NULL: the path was not taken
);

CREATE TABLE event_totals (
    -- How they add up since the run began; no rows unless they were asked for. At the end seen = written + lost.
    interval INTEGER PRIMARY KEY REFERENCES intervals (id),
    seen INTEGER NOT NULL,
    written INTEGER NOT NULL,
    lost INTEGER NOT NULL           -- not taken by the full ring buffer
);

CREATE TABLE run_end (
    -- One row; none when the recording was cut short.
    duration_ns INTEGER NOT NULL,   -- hooks attached to detached
    intervals INTEGER NOT NULL,     -- how many were written
    unseen_pages INTEGER            -- counted by /proc/vmstat and seen by no hook; NULL: not compared
);

CREATE TABLE command_end (
    -- How the command ended; no row without a command.
    exit_code INTEGER NOT NULL,     -- 128+n: killed by signal n
    wall_s REAL,
    user_s REAL,
    system_s REAL
);

CREATE TABLE benchmark (
    -- What the command printed; no row without a command.
    tool TEXT NOT NULL,             -- empty: not recognised
    test TEXT NOT NULL,
    instances INTEGER NOT NULL,
    work_unit TEXT,                 -- message, transaction or gigabit; NULL: work unknown
    work_amount REAL,
    stdout TEXT NOT NULL,
    stderr TEXT NOT NULL
);

CREATE TABLE results (
    -- The benchmark's figures as it printed them.
    position INTEGER PRIMARY KEY,
    metric TEXT NOT NULL,
    side TEXT NOT NULL,             -- send, receive or both
    value REAL,                     -- NULL: the benchmark printed no number
    unit TEXT NOT NULL,
    lower_is_better INTEGER NOT NULL
);

CREATE TABLE warnings (
    -- What to know before trusting the figures.
    position INTEGER PRIMARY KEY,
    about TEXT NOT NULL,            -- run or benchmark
    warning TEXT NOT NULL
);

CREATE TABLE buddyinfo (
    -- Free blocks at the start and at the end.
    zone TEXT NOT NULL,             -- node/zone
    page_order INTEGER NOT NULL,
    before INTEGER,
    after INTEGER,
    PRIMARY KEY (zone, page_order)
) WITHOUT ROWID;

CREATE TABLE vmstat (
    -- What changed in /proc/vmstat over the run.
    name TEXT PRIMARY KEY,
    delta INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE sockstat (
    -- Socket memory at the start and at the end, and the limits of the protocols.
    name TEXT PRIMARY KEY,          -- as in /proc/net/sockstat, or net.ipv4.udp_mem.0 to .2 and its like
    before INTEGER,
    after INTEGER
) WITHOUT ROWID;

CREATE TABLE netstat (
    -- What changed in /proc/net/snmp and /proc/net/netstat over the run.
    name TEXT PRIMARY KEY,          -- such as Udp.RcvbufErrors
    delta INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE interfaces (
    -- Traffic of a network interface over the run.
    name TEXT PRIMARY KEY,
    rx_packets INTEGER NOT NULL,
    rx_bytes INTEGER NOT NULL,
    tx_packets INTEGER NOT NULL,
    tx_bytes INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIEW allocations AS
    -- Every count with all that is known of it.
    SELECT c.interval, i.from_ns / 1e9 AS from_s, i.to_ns / 1e9 AS to_s, k.path, k.user_path, o.name AS owner,
        k.page_order, m.name AS migratetype, printf('0x%x', k.gfp) AS gfp, k.failed, c.events,
        CASE WHEN k.failed THEN 0 ELSE c.events << k.page_order END AS pages
    FROM counts c
    JOIN intervals i ON i.id = c.interval
    JOIN kinds k ON k.id = c.kind
    LEFT JOIN owners o ON o.id = k.owner
    LEFT JOIN migratetypes m ON m.number = k.migratetype;

CREATE VIEW pages_by_order AS
    -- The exact totals at the end of the recording.
    SELECT t.page_order, t.allocated AS events, t.allocated << t.page_order AS pages,
        (t.allocated << t.page_order) * h.page_size AS bytes, t.failed, t.freed, t.refilled, t.direct, t.drained
    FROM order_totals t, host h
    WHERE t.interval = (SELECT max(l.interval) FROM order_totals l WHERE l.page_order = t.page_order)
    ORDER BY t.page_order;

CREATE VIEW stacks AS
    -- Every path as folded text, outermost frame first.
    SELECT p.id AS path, p.key, p.truncated, (
        SELECT group_concat(text, ';') FROM (
            SELECT coalesce(
                replace(f.name, ';', ':') || CASE WHEN f.module IS NULL THEN '' ELSE '_[' || f.module || ']' END,
                pf.address
            ) AS text
            FROM path_frames pf LEFT JOIN frames f ON f.id = pf.frame
            WHERE pf.path = p.id ORDER BY pf.position DESC
        )
    ) AS stack
    FROM paths p;

CREATE VIEW folded AS
    -- Successful allocations by path over the whole recording.
    SELECT t.path, coalesce(s.stack, '[no path]') AS stack, t.events, t.pages
    FROM (
        SELECT k.path, sum(c.events) AS events, sum(c.events << k.page_order) AS pages
        FROM counts c JOIN kinds k ON k.id = c.kind
        WHERE NOT k.failed GROUP BY k.path
    ) t
    LEFT JOIN stacks s ON s.path = t.path
    ORDER BY t.pages DESC, stack;

CREATE VIEW timeline AS
    -- Successful allocations by interval and order.
    SELECT c.interval, i.from_ns / 1e9 AS from_s, i.to_ns / 1e9 AS to_s, k.page_order,
        sum(c.events) AS events, sum(c.events << k.page_order) AS pages
    FROM counts c
    JOIN intervals i ON i.id = c.interval
    JOIN kinds k ON k.id = c.kind
    WHERE NOT k.failed
    GROUP BY c.interval, k.page_order
    ORDER BY c.interval, k.page_order;

CREATE VIEW lost AS
    -- Losses at the end of the recording.
    SELECT l.cause, l.events, l.pages, l.without_path FROM losses l
    WHERE l.interval = (SELECT max(x.interval) FROM losses x WHERE x.cause = l.cause)
    ORDER BY l.cause;
