package inbox

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"sort"

	"c2c/inbox/mail"
)

// An index file says at which places in some older files of the archive the messages with an id
// begin. The file consists of blocks of idBlock bytes, each with a checksum. The entries are sorted
// by key, so a search for one id reads only a few blocks. Each read checks the checksum of the
// block. A missing or damaged index is made anew from the archive.
const (
	idBlock = 4096                         // bytes of a block
	idEntry = 16                           // bytes of an entry: key and place
	idFoot  = 16                           // bytes at the end of a block: number of entries, number of blocks, version, checksum
	idMost  = (idBlock - idFoot) / idEntry // the most entries of a block
	idMagic = 0xc2c1d501                   // the version of the format
)

var (
	errIndex = errors.New("index of ids is damaged")
	errOften = errors.New("too many places for an index of ids")
)

// mostPlaces is the most places of one id that a search visits. If there are more, it is faster to
// search the files.
const mostPlaces = 64

// idAt is an entry of an index: a message whose id has this key begins at this place in the
// archive.
type idAt struct {
	key   uint64
	place int64
}

// idKey returns the key of an id. A UUID and its short form have the same key.
func idKey(id string) uint64 {
	sum := sha256.Sum256([]byte(mail.ShortID(id)))
	return binary.BigEndian.Uint64(sum[:])
}

// encodeIDs formats an index file. The file has a block even if there are no entries.
func encodeIDs(all []idAt) []byte {
	sort.Slice(all, func(i, j int) bool { // slices.SortFunc would make the program larger; both are fast compared with the disk
		return all[i].key < all[j].key || all[i].key == all[j].key && all[i].place < all[j].place
	})
	all = slices.Compact(all)
	blocks := max(1, (len(all)+idMost-1)/idMost)
	data := make([]byte, blocks*idBlock)
	for i := range blocks {
		block, some := data[i*idBlock:(i+1)*idBlock], all[min(i*idMost, len(all)):min((i+1)*idMost, len(all))]
		for j, one := range some {
			binary.BigEndian.PutUint64(block[j*idEntry:], one.key)
			binary.BigEndian.PutUint64(block[j*idEntry+8:], uint64(one.place))
		}
		foot := block[idBlock-idFoot:]
		binary.BigEndian.PutUint32(foot, uint32(len(some)))
		binary.BigEndian.PutUint32(foot[4:], uint32(blocks))
		binary.BigEndian.PutUint32(foot[8:], idMagic)
		binary.BigEndian.PutUint32(foot[12:], crc32.ChecksumIEEE(block[:idBlock-4]))
	}
	return data
}

// readIDs returns the entries of a block in a file with this number of blocks.
func readIDs(block []byte, blocks int64) (some []idAt, err error) {
	foot := block[idBlock-idFoot:]
	n := binary.BigEndian.Uint32(foot)
	if n > idMost || int64(binary.BigEndian.Uint32(foot[4:])) != blocks || binary.BigEndian.Uint32(foot[8:]) != idMagic ||
		binary.BigEndian.Uint32(foot[12:]) != crc32.ChecksumIEEE(block[:idBlock-4]) {
		return nil, errIndex
	}
	for i := range int(n) {
		some = append(some, idAt{binary.BigEndian.Uint64(block[i*idEntry:]), int64(binary.BigEndian.Uint64(block[i*idEntry+8:]))})
	}
	return some, nil
}

// decodeIDs reads a whole index file.
func decodeIDs(data []byte) (all []idAt, err error) {
	if len(data) == 0 || len(data)%idBlock != 0 {
		return nil, errIndex
	}
	for block := range slices.Chunk(data, idBlock) {
		some, err := readIDs(block, int64(len(data)/idBlock))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// placesOfAll reads an index file of this size, and returns the places of all ids in ascending
// order. It returns errOften if there are so many places that the index saves no time.
func placesOfAll(f io.ReaderAt, size int64, ids map[string]bool) (places []int64, err error) {
	keys := map[uint64]bool{}
	for id := range ids {
		keys[idKey(id)] = true
	}
	if int64(len(keys)) <= size/idBlock/8 { // one search for each key reads fewer blocks than reading the whole file
		for key := range keys {
			some, err := placesOf(f, size, key)
			if err != nil {
				return nil, err
			}
			places = append(places, some...)
		}
	} else {
		data := make([]byte, size)
		if _, err := f.ReadAt(data, 0); err != nil {
			return nil, err
		}
		all, err := decodeIDs(data)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			if keys[one.key] {
				places = append(places, one.place)
			}
		}
	}
	if len(places) > len(keys)*mostPlaces {
		return nil, errOften
	}
	slices.Sort(places)
	return slices.Compact(places), nil
}

// placesOf returns the places of a key, from an index file of this size.
func placesOf(f io.ReaderAt, size int64, key uint64) (places []int64, err error) {
	if size == 0 || size%idBlock != 0 {
		return nil, errIndex
	}
	blocks, buf := size/idBlock, make([]byte, idBlock)
	read := func(i int) (some []idAt) {
		if err == nil {
			_, err = f.ReadAt(buf, int64(i)*idBlock)
		}
		if err == nil {
			some, err = readIDs(buf, blocks)
		}
		return some
	}
	// Find the first block whose last key is not before key.
	i := sort.Search(int(blocks), func(i int) bool {
		some := read(i)
		return len(some) == 0 || some[len(some)-1].key >= key
	})
	for ; i < int(blocks) && err == nil; i++ {
		some := read(i)
		for _, one := range some {
			if one.key == key {
				places = append(places, one.place)
			}
		}
		if len(places) > mostPlaces {
			return nil, errOften
		}
		if len(some) == 0 || some[len(some)-1].key > key {
			break
		}
	}
	return places, err
}
