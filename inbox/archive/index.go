package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/atomicfile"
	"c2c/inbox/mail"
)

// Beside the older files of an archive stand their indexes (indexfile.go):
//
//	archive/<sid>.old/<from>-<to>.ids   the ids that stand behind the place from and before the place to
//
// An older file never changes, so an index is right for as long as the file is there. Whoever looks for an id makes the
// indexes that are missing, before it locks the mailbox. The newest file has none: it is short, and is searched. So is a file
// without an index, or with a damaged one: a message that is archived is found, whoever was killed and whatever is lost. A
// place that is not in the archive any more was pruned.
type idFile struct{ from, to int64 }

func (i idFile) name() string { return fmt.Sprintf("%016d-%016d.ids", i.from, i.to) }

func parseIDFile(name string) (i idFile, ok bool) {
	stem, ok := strings.CutSuffix(name, ".ids")
	from, to, ok2 := strings.Cut(stem, "-")
	var err, err2 error
	i.from, err = strconv.ParseInt(from, 10, 64)
	i.to, err2 = strconv.ParseInt(to, 10, 64)
	return i, ok && ok2 && err == nil && err2 == nil && 0 <= i.from && i.from < i.to && i.name() == name
}

// maxIndexed is how much of an archive one index is for. Two neighbours become one while they are smaller together.
const maxIndexed = 64 << 20

// older is an older file of the archive, as a stretch of places.
func (a *snapshot) older() (all []idFile) {
	for i, base := range a.bases {
		end := a.base
		if i+1 < len(a.bases) {
			end = a.bases[i+1]
		}
		if base < end { // an empty one says where the next begins
			all = append(all, idFile{base, end})
		}
	}
	return all
}

// indexOf gives the largest index for a stretch. One that does not end where a file does is of an archive that is gone: who
// removed that was killed.
func (a *snapshot) indexOf(part idFile) (best idFile, ok bool) {
	for _, i := range a.ids {
		_, ends := slices.BinarySearch(a.bases, i.to)
		if ends = ends || i.to == a.base; ends && i.from <= part.from && part.to <= i.to && i.to-i.from > best.to-best.from {
			best, ok = i, true
		}
	}
	return best, ok
}

// WithIDs calls f for the records whose id is one of ids, or is shown as one of them (ShortID): those of a later file before
// those of an earlier one. After each file it asks more whether to go on.
func (s *Store) WithIDs(ids map[string]bool, more func() bool, f func(Record)) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	return a.withIDs(ids, more, f)
}

// withIDs is Store.WithIDs.
func (a *snapshot) withIDs(ids map[string]bool, more func() bool, f func(Record)) error {
	var r backReader
	scan := func(file *atomicfile.Handle) error {
		_, err := r.read(file, 0, func(lines []byte) bool {
			eachWithID(lines, ids, f)
			return true
		})
		return err
	}
	if a.newest != nil {
		if err := scan(a.newest); err != nil {
			return err
		}
	}
	all := a.older()
	for len(all) > 0 && more() {
		last := len(all) - 1
		index, ok := a.indexOf(all[last])
		if !ok {
			if err := a.scanPart(all[last], scan); err != nil {
				return err
			}
			all = all[:last]
			continue
		}
		first := slices.IndexFunc(all, func(part idFile) bool { return part.from >= index.from })
		records, err := a.lookUp(index, ids)
		if err != nil {
			for i := last; i >= first && more(); i-- {
				if err := a.scanPart(all[i], scan); err != nil {
					return err
				}
			}
		}
		for _, r := range records {
			f(r)
		}
		all = all[:first]
	}
	return nil
}

// scanPart searches an older file.
func (a *snapshot) scanPart(part idFile, scan func(file *atomicfile.Handle) error) error {
	file, err := a.old.OpenHandle(partName(part.from), os.O_RDONLY)
	if err != nil {
		return atomicfile.UnlessAbsent(err) // it was pruned meanwhile
	}
	defer file.Close()
	return scan(file)
}

// eachWithID calls f for the records in lines that have one of the ids, the last one first.
func eachWithID(lines []byte, ids map[string]bool, f func(Record)) {
	for _, start := range slices.Backward(mail.LinesWith(lines, ids)) {
		line, _, _ := bytes.Cut(lines[start:], []byte("\n"))
		var r Record
		if json.Unmarshal(line, &r) == nil && mail.IsAmong(r.ID, ids) {
			f(r)
		}
	}
}

// lookUp gives the records of an index that have one of the ids, the latest first. An error says that the index is no use for them.
func (a *snapshot) lookUp(index idFile, ids map[string]bool) (found []Record, err error) {
	f, size, err := openSized(a.old, index.name())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	places, err := placesOfAll(f, size, ids)
	if err != nil {
		if !errors.Is(err, errOften) {
			a.old.Remove(index.name()) // whoever looks next makes it anew
		}
		return nil, err
	}
	for _, place := range slices.Backward(places) {
		line, err := a.lineAt(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue // pruned
		}
		if err == nil && !hasKeyOf(line, ids) {
			err = errIndex
		}
		if errors.Is(err, errIndex) { // somebody has changed the file
			a.old.Remove(index.name())
		}
		if err != nil {
			return nil, err
		}
		eachWithID(line, ids, func(r Record) { found = append(found, r) })
	}
	return found, nil
}

// hasKeyOf says whether a line has an id with the key of one of ids. It need not be one of them: what is shown of an id may be
// another message's id.
func hasKeyOf(line []byte, ids map[string]bool) (has bool) {
	mail.EachID(line, func(found string, _ int) {
		for id := range ids {
			has = has || mail.ShortID(id) == mail.ShortID(found)
		}
	})
	return has
}

// lineAt reads the line that begins at a place in one of the older files. It is errIndex when none begins there.
func (a *snapshot) lineAt(place int64) (line []byte, err error) {
	i, there := slices.BinarySearch(a.bases, place)
	if !there {
		i--
	}
	if i < 0 || place >= a.base {
		return nil, fs.ErrNotExist
	}
	f, err := a.old.OpenHandle(partName(a.bases[i]), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at := place - a.bases[i]
	var before [1]byte
	if at > 0 {
		if _, err := f.ReadAt(before[:], at-1); err != nil || before[0] != '\n' {
			return nil, errIndex
		}
	}
	line, err = bufio.NewReader(io.NewSectionReader(f, at, maxNext)).ReadBytes('\n')
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// Index makes the indexes of an archive that are missing. Without one a look for an id takes longer, and is as right: an
// error is logged only. No lock of the mailbox is held meanwhile.
func (s *Store) Index(ctx context.Context) {
	a, err := s.open()
	if err == nil {
		defer a.close()
		err = s.indexMissing(ctx, a)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("ids of the archive are not indexed", "session", s.sid, "err", err)
	}
}

func (s *Store) indexMissing(ctx context.Context, a *snapshot) error {
	var run []idFile // neighbours without an index
	var entries []idAt
	write := func() error {
		if len(run) == 0 {
			return nil
		}
		index := idFile{run[0].from, run[len(run)-1].to}
		err := s.writeIndex(ctx, a, index, entries)
		run, entries = nil, nil
		return err
	}
	for _, part := range a.older() {
		_, has := a.indexOf(part)
		if has || len(run) > 0 && (part.to-run[0].from > maxIndexed || run[len(run)-1].to != part.from) {
			if err := write(); err != nil {
				return err
			}
		}
		if has {
			continue
		}
		err := a.scanPart(part, func(file *atomicfile.Handle) error {
			lines, err := readBehind(file, 0, nil)
			mail.EachID(lines, func(id string, start int) { entries = append(entries, idAt{idKey(id), part.from + int64(start)}) })
			return err
		})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		run = append(run, part)
	}
	return write()
}

// writeIndex writes an index, and joins it with those before it that are not much larger.
func (s *Store) writeIndex(ctx context.Context, a *snapshot, index idFile, entries []idAt) error {
	var joined []string
	for again := true; again; {
		again = false
		for i, before := range a.ids {
			if before.to != index.from || before.to-before.from > 2*(index.to-index.from) || index.to-before.from > maxIndexed {
				continue
			}
			data, err := a.old.Read(before.name())
			if err != nil {
				break
			}
			some, err := decodeIDs(data)
			if err != nil {
				break
			}
			entries, index.from, again = append(entries, some...), before.from, true
			joined = append(joined, before.name())
			a.ids = slices.Delete(a.ids, i, i+1)
			break
		}
	}
	data := encodeIDs(entries)
	return s.underLock(ctx, func(*atomicfile.Dir) error {
		if err := a.old.Replace(index.name(), data); err != nil {
			return err
		}
		a.ids = append(a.ids, index)
		for _, name := range joined {
			a.old.Remove(name) // one that stays says the same
		}
		return nil
	})
}

// pruneIndexes removes the indexes whose files are all gone. The caller holds the archive's lock.
func (a *snapshot) pruneIndexes(gone []string) error {
	removed := map[string]bool{}
	for _, name := range gone {
		removed[name] = true
	}
	for _, i := range a.ids {
		left := slices.ContainsFunc(a.older(), func(part idFile) bool {
			return !removed[partName(part.from)] && i.from <= part.from && part.to <= i.to
		})
		if left {
			continue
		}
		if err := atomicfile.UnlessAbsent(a.old.Remove(i.name())); err != nil {
			return err
		}
	}
	return nil
}
