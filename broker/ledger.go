package broker

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"c2c/inbox/atomicfile"
	"c2c/inbox/filelock"
)

// The ledger of a session is a line for each message that an agent has sent to it lately. It is there to notice storms,
// so a power cut may shorten it, and nothing is synced. It is two files, of which the older one is replaced.
const (
	ledgerDir = "storm"
	ledgerMax = 32 << 10
)

// What a line of a ledger tells.
const (
	sentMark   = 's'
	heldMark   = 'h' // the sender's mail is held from then on, until the next resumeMark
	resumeMark = 'r'
)

// entry is one line: its time in ms, its mark, the hops of the message, the sender's session, the message's id.
type entry struct {
	at   int64
	mark byte
	hops int
	from string
	id   string
}

func (e entry) line() []byte {
	b := strconv.AppendInt(nil, e.at, 10)
	b = append(b, ' ', e.mark, ' ')
	b = strconv.AppendInt(b, int64(e.hops), 10)
	b = append(append(b, ' '), e.from...)
	return append(append(append(b, ' '), e.id...), '\n')
}

// parseEntry allocates nothing: each send reads two ledgers, of some hundred lines each.
func parseEntry(line string) (e entry, ok bool) {
	at, rest, _ := strings.Cut(line, " ")
	mark, rest, _ := strings.Cut(rest, " ")
	hops, rest, _ := strings.Cut(rest, " ")
	if e.from, e.id, ok = strings.Cut(rest, " "); !ok || len(mark) != 1 || strings.Contains(e.id, " ") {
		return e, false
	}
	var err, herr error
	e.at, err = strconv.ParseInt(at, 10, 64)
	e.hops, herr = strconv.Atoi(hops)
	e.mark = mark[0]
	return e, err == nil && herr == nil
}

func ledgerName(sid string) string { return sid + ".log" }
func olderName(sid string) string  { return sid + ".old" }

// ledger is what a session was sent in the time that counts, and what holds mail or lets it go on, oldest first; size is
// that of the newer file.
type ledger struct {
	entries []entry
	size    int
}

// ledgers reads the ledgers of two sessions.
func (b *Broker) ledgers(one, other string) (first, second ledger, err error) {
	dir, err := b.subIfThere(ledgerDir)
	if err != nil || dir == nil {
		return first, second, err
	}
	defer dir.Close()
	since := b.now().Add(-max(stormTime, stormPause)).UnixMilli()
	if first, err = readLedger(dir, one, since); err == nil && other != "" {
		second, err = readLedger(dir, other, since)
	}
	return first, second, err
}

func readLedger(dir *atomicfile.Dir, sid string, since int64) (l ledger, err error) {
	for _, name := range []string{olderName(sid), ledgerName(sid)} {
		data, err := dir.ReadIf(name)
		if err != nil {
			return l, err
		}
		l.size = len(data)
		for line := range strings.Lines(string(data)) {
			if e, ok := parseEntry(strings.TrimSuffix(line, "\n")); ok && (e.mark != sentMark || e.at >= since) {
				l.entries = append(l.entries, e)
			}
		}
	}
	return l, nil
}

// enter adds lines to the ledger of a session.
func (b *Broker) enter(sid string, entries ...entry) error {
	dir, err := b.root.LogSub(ledgerDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	var lines []byte
	for _, e := range entries {
		lines = append(lines, e.line()...)
	}
	return dir.Log(ledgerName(sid), lines)
}

// turnLedger begins a new file when the ledger of a session is long. What holds mail, or lets it go on, is carried over.
// A line that another process adds meanwhile stands in one of the two files.
func (b *Broker) turnLedger(sid string, entries []entry) error {
	dir, err := b.root.LogSub(ledgerDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = turnOnce(dir, sid, entries)
	return err
}

func turnOnce(dir *atomicfile.Dir, sid string, entries []entry) (turned bool, err error) {
	lock, err := filelock.Open(dir, sid+".lock")
	if err != nil {
		return false, err
	}
	defer lock.Release()
	if turned, err = lock.Try(); err != nil || !turned {
		return false, err
	}
	if info, err := dir.Stat(ledgerName(sid)); err != nil || info.Size() < ledgerMax {
		return false, err // another process has done it just now
	}
	if err := dir.Rename(ledgerName(sid), olderName(sid)); err != nil {
		return false, err
	}
	var lines []byte
	last := map[string]int64{} // when a pair was let go on
	for _, e := range entries {
		if e.mark == resumeMark {
			last[e.from] = e.at
		}
	}
	for _, e := range entries {
		if e.mark == resumeMark && e.at == last[e.from] || e.mark == heldMark && e.at > last[e.from] {
			lines = append(lines, e.line()...)
		}
	}
	if len(lines) == 0 {
		return true, nil
	}
	return true, dir.Log(ledgerName(sid), lines)
}

// exchange is what two sessions have sent each other since a person let them go on last, oldest first.
type exchange struct {
	entries []entry
	resumed int64 // when that was, in ms; 0: never
}

// exchanged reads what two sessions have sent each other from the ledgers of both.
func exchanged(a, b string, ofA, ofB []entry) (x exchange) {
	both := func(f func(entry)) {
		i, j := 0, 0
		for i < len(ofA) || j < len(ofB) {
			switch {
			case j == len(ofB) || i < len(ofA) && ofA[i].at <= ofB[j].at:
				if ofA[i].from == b {
					f(ofA[i])
				}
				i++
			default:
				if ofB[j].from == a {
					f(ofB[j])
				}
				j++
			}
		}
	}
	both(func(e entry) {
		if e.mark == resumeMark {
			x.resumed = max(x.resumed, e.at)
		}
	})
	both(func(e entry) {
		if e.mark != resumeMark && e.at > x.resumed {
			x.entries = append(x.entries, e)
		}
	})
	return x
}

// stopped says whether the mail of one of them is held; "": that of either.
func (x exchange) stopped(from string) bool {
	return slices.ContainsFunc(x.entries, func(e entry) bool { return e.mark == heldMark && (from == "" || e.from == from) })
}

// answers counts how often the two have taken turns since a time: what one sends before the other does is one.
func (x exchange) answers(since time.Time, next string) (n int) {
	last := ""
	for _, e := range x.entries {
		if e.mark == sentMark && e.at >= since.UnixMilli() && e.from != last {
			n, last = n+1, e.from
		}
	}
	if last != next {
		n++
	}
	return n
}

// hopsOf says how many answers in a row a message is, which answers the message with an id. It is 1 when that is not
// known, was sent before a pause, or before a person has let a conversation of the session go on.
func hopsOf(received []entry, id string, pause time.Time) int {
	if id == "" {
		return 1
	}
	for i := len(received) - 1; i >= 0; i-- {
		e := received[i]
		if e.mark == resumeMark || e.at < pause.UnixMilli() {
			return 1
		}
		if e.id == id {
			return e.hops + 1
		}
	}
	return 1
}
