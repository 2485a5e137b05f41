package inbox

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

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// idFile is an index of ids. The older files of an archive have such indexes beside them, in the
// format of indexfile.go:
//
//	archive/<sid>.old/<from>-<to>.ids   the ids in the part of the archive between the places <from> and <to>
//
// An older file never changes, so its index stays valid as long as the file is there. A search for
// an id first makes missing indexes, before it locks the mailbox. The newest file has no index: it
// is short, so the search reads the file itself. If an index is missing or damaged, the search
// reads the file, too, so it finds every archived message. An index may still have places that were
// pruned from the archive.
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

// maxIndexed is the number of bytes of an archive that one index may cover. Neighbouring indexes
// are joined only if they do not cover more together.
const maxIndexed = 64 << 20

// older returns the range of places of each older file of the archive.
func (a *snapshot) older() (all []idFile) {
	for i, base := range a.bases {
		end := a.base
		if i+1 < len(a.bases) {
			end = a.bases[i+1]
		}
		if base < end { // an empty file only shows where the next file begins
			all = append(all, idFile{base, end})
		}
	}
	return all
}

// indexOf returns the largest index that covers a part of the archive. It ignores an index that
// does not end where a file ends: such an index is left from an earlier archive, which was removed.
func (a *snapshot) indexOf(part idFile) (best idFile, ok bool) {
	for _, i := range a.ids {
		_, ends := slices.BinarySearch(a.bases, i.to)
		if ends = ends || i.to == a.base; ends && i.from <= part.from && part.to <= i.to && i.to-i.from > best.to-best.from {
			best, ok = i, true
		}
	}
	return best, ok
}

// WithIDs calls f for each record whose id, or the short form of its id (mail.ShortID), is in ids.
// It begins with the newest file. Between two files it calls the function more, and stops if the
// result is false.
func (s *Archive) WithIDs(ids map[string]bool, more func() bool, f func(ArchiveRecord)) error {
	a, err := s.open()
	if err != nil {
		return err
	}
	defer a.close()
	return a.withIDs(ids, more, f)
}

// withIDs is Store.WithIDs for one snapshot.
func (a *snapshot) withIDs(ids map[string]bool, more func() bool, f func(ArchiveRecord)) error {
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

// eachWithID calls f for the records in lines that have one of the ids, the last record first.
func eachWithID(lines []byte, ids map[string]bool, f func(ArchiveRecord)) {
	for _, start := range slices.Backward(mail.LinesWith(lines, ids)) {
		line, _, _ := bytes.Cut(lines[start:], []byte("\n"))
		var r ArchiveRecord
		if json.Unmarshal(line, &r) == nil && mail.IsAmong(r.ID, ids) {
			f(r)
		}
	}
}

// lookUp reads an index to find the records that have one of the ids, and returns these records,
// latest first. After an error the caller must search the files themselves.
func (a *snapshot) lookUp(index idFile, ids map[string]bool) (found []ArchiveRecord, err error) {
	f, size, err := openSized(a.old, index.name())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	places, err := placesOfAll(f, size, ids)
	if err != nil {
		if !errors.Is(err, errOften) {
			a.old.Remove(index.name()) // the next search makes the index anew
		}
		return nil, err
	}
	for _, place := range slices.Backward(places) {
		line, err := a.lineAt(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file with this place was pruned
		}
		if err == nil && !hasKeyOf(line, ids) {
			err = errIndex
		}
		if errors.Is(err, errIndex) { // another program has changed the file, so the index is wrong
			a.old.Remove(index.name())
		}
		if err != nil {
			return nil, err
		}
		eachWithID(line, ids, func(r ArchiveRecord) { found = append(found, r) })
	}
	return found, nil
}

// hasKeyOf reports whether a line has an id with the same short form as one of ids. The two ids may
// still differ.
func hasKeyOf(line []byte, ids map[string]bool) (has bool) {
	mail.EachID(line, func(found string, _ int) {
		for id := range ids {
			has = has || mail.ShortID(id) == mail.ShortID(found)
		}
	})
	return has
}

// lineAt reads the line that begins at a place in one of the older files. It returns errIndex if no
// line begins there.
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

// Index makes the missing indexes of an archive. It only logs an error, because a search without an
// index takes longer, but finds the same messages. It does not take the lock of the mailbox.
func (s *Archive) Index(ctx context.Context) {
	a, err := s.open()
	if err == nil {
		defer a.close()
		err = s.indexMissing(ctx, a)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("ids of the archive are not indexed", "session", s.sid, "err", err)
	}
}

func (s *Archive) indexMissing(ctx context.Context, a *snapshot) error {
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

// writeIndex writes an index. If the indexes before it are not much larger, it joins them into the
// new one.
func (s *Archive) writeIndex(ctx context.Context, a *snapshot, index idFile, entries []idAt) error {
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
			a.old.Remove(name) // if the removal fails, the joined index has the same entries
		}
		return nil
	})
}

// pruneIndexes removes each index that covers no file any more. The argument gone has the names of
// the removed files. The caller holds the archive's lock.
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
