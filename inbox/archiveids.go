package inbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"
	"time"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// Each older file of an archive has an index of ids beside it: archive/<sid>.old/<base>.ids. It
// begins with the size and the time of the older file, and is void if these have changed. Then it
// has a pair for each message, sorted: a hash of the id (idKey), and the offset of the message in
// the older file. It ends with a checksum. A search for an id first makes missing indexes, without
// the lock of the mailbox. If an index is missing or void, the search reads the older file itself,
// and so it reads the newest file, which has no index. An index is not synced.
const (
	indexHead = 16
	indexPair = 8
	// mostPlaces is the most places of one id that a search visits. If there are more, it is faster
	// to search the file.
	mostPlaces = 64
)

// errNoIndex says that an index is missing or void, or saves no time.
var errNoIndex = errors.New("no index of ids")

func indexName(base int64) string { return fmt.Sprintf("%016d.ids", base) }

// idKey returns the hash of an id. A UUID and its short form have the same hash.
func idKey(id string) uint32 {
	sum := sha256.Sum256([]byte(mail.ShortID(id)))
	return binary.BigEndian.Uint32(sum[:])
}

// encodeIndex makes the index of an older file with this content and this time.
func encodeIndex(file []byte, changed time.Time) []byte {
	var pairs [][indexPair]byte
	mail.EachID(file, func(id string, start int) {
		var pair [indexPair]byte
		binary.BigEndian.PutUint32(pair[:], idKey(id))
		binary.BigEndian.PutUint32(pair[4:], uint32(start))
		pairs = append(pairs, pair)
	})
	slices.SortFunc(pairs, func(a, b [indexPair]byte) int { return bytes.Compare(a[:], b[:]) })
	data := indexHeadOf(int64(len(file)), changed)
	for _, pair := range pairs {
		data = append(data, pair[:]...)
	}
	return binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
}

func indexHeadOf(size int64, changed time.Time) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(size)), uint64(changed.UnixNano()))
}

// pairsOf returns the pairs of an index, if it is the index of an older file with this size and
// time.
func pairsOf(index []byte, size int64, changed time.Time) (pairs []byte, ok bool) {
	end := len(index) - crc32.Size
	if end < indexHead || (end-indexHead)%indexPair != 0 || !bytes.HasPrefix(index, indexHeadOf(size, changed)) ||
		crc32.ChecksumIEEE(index[:end]) != binary.BigEndian.Uint32(index[end:]) {
		return nil, false
	}
	return index[indexHead:end], true
}

// placesIn returns the offsets of the messages with these ids.
func placesIn(pairs []byte, ids map[string]bool) (places []int64) {
	at := func(i int) uint32 { return binary.BigEndian.Uint32(pairs[i*indexPair:]) }
	count := len(pairs) / indexPair
	for id := range ids {
		key := idKey(id)
		for i := sort.Search(count, func(i int) bool { return at(i) >= key }); i < count && at(i) == key; i++ {
			places = append(places, int64(binary.BigEndian.Uint32(pairs[i*indexPair+4:])))
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
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
	var r atomicfile.BackReader
	scan := func(file *atomicfile.Handle) error {
		_, err := r.Read(file, 0, func(lines []byte) bool {
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
	var buf []byte // the memory for all indexes
	for _, base := range slices.Backward(a.bases) {
		if !more() {
			return nil
		}
		err := a.lookUp(base, ids, &buf, f)
		if errors.Is(err, errNoIndex) {
			err = a.withPart(base, scan)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withPart calls f with an older file, unless it was pruned meanwhile.
func (a *snapshot) withPart(base int64, f func(file *atomicfile.Handle) error) error {
	file, err := a.old.OpenHandle(partName(base), os.O_RDONLY)
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	defer file.Close()
	return f(file)
}

// lookUp calls f for the records of an older file that have one of the ids, the last record first.
// It finds them by the index. If there is none, the error is errNoIndex, and f was not called.
func (a *snapshot) lookUp(base int64, ids map[string]bool, buf *[]byte, f func(ArchiveRecord)) error {
	file, err := a.old.OpenHandle(indexName(base), os.O_RDONLY)
	if err != nil {
		return errNoIndex
	}
	*buf, err = readWhole(file, *buf)
	file.Close()
	if err != nil {
		return errNoIndex
	}
	part, err := a.old.Stat(partName(base))
	if err != nil {
		return atomicfile.UnlessAbsent(err)
	}
	pairs, ok := pairsOf(*buf, part.Size(), part.ModTime())
	if !ok {
		a.old.Remove(indexName(base)) // the next search makes it anew
		return errNoIndex
	}
	places := placesIn(pairs, ids)
	if len(places) == 0 {
		return nil
	}
	if len(places) > len(ids)*mostPlaces || places[len(places)-1] >= part.Size() {
		return errNoIndex
	}
	return a.withPart(base, func(file *atomicfile.Handle) error {
		for _, place := range slices.Backward(places) {
			line, err := bufio.NewReader(io.NewSectionReader(file, place, maxNext)).ReadBytes('\n')
			if err != nil && err != io.EOF {
				return err
			}
			eachWithID(line, ids, f)
		}
		return nil
	})
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

// Index makes the missing indexes of an archive. It only logs an error, because a search without an
// index takes longer, but finds the same messages.
func (s *Archive) Index(ctx context.Context) {
	a, err := s.open()
	if err == nil {
		defer a.close()
		for _, base := range a.bases {
			if err == nil && ctx.Err() == nil && !a.ids[indexName(base)] {
				err = a.index(base)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Debug("ids of the archive are not indexed", "session", s.sid, "err", err)
	}
}

func (a *snapshot) index(base int64) error {
	return a.withPart(base, func(file *atomicfile.Handle) error {
		data, err := readWhole(file, nil)
		if err != nil || len(data) == 0 || int64(len(data)) != file.Size() {
			return err // it only shows where the next file begins, it is longer than c2c reads, or another program writes it
		}
		return a.old.WriteUnsynced(indexName(base), encodeIndex(data, file.ModTime()))
	})
}

// removePart removes an older file and its index.
func (a *snapshot) removePart(base int64) error {
	return errors.Join(a.old.Remove(partName(base)), atomicfile.UnlessAbsent(a.old.Remove(indexName(base))))
}
