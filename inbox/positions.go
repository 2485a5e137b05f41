package inbox

import (
	"slices"
	"strconv"
	"strings"
)

// On a full disk a reader can write neither to the archive, nor a new file with the messages that it has not handed over. A rename
// needs no space, so the reader puts the positions of the read messages into the name of the file:
//
//	part-<positions>-<number>-<count>-<bytes>-<archived>-<unix ms>-<reader>.json
//
// The next reader that finds room archives these messages and writes the others into a new file, under a name without positions. Until
// then the read messages stay in the file, but are not offered. A version of c2c that does not know such names skips the file.
const partPrefix = "part-"

// maxField bounds the numbers in a file's name.
const maxField = 1 << 52

// positions lists ranges of messages in a file, in ascending order. Each range is two numbers: its first position, and the first position
// after it. The first message has position 0.
type positions []int

// positionsWhere returns the positions below n for which the function match returns true.
func positionsWhere(n int, match func(position int) bool) (p positions) {
	for i := range n {
		if match(i) == (len(p)%2 == 0) { // a range begins or ends at i
			p = append(p, i)
		}
	}
	if len(p)%2 == 1 {
		p = append(p, n)
	}
	return p
}

func (p positions) has(position int) bool {
	i, begins := slices.BinarySearch(p, position)
	return (i%2 == 1) != begins
}

// count returns how many positions there are.
func (p positions) count() (n int) {
	for i := 0; i < len(p); i += 2 {
		n += p[i+1] - p[i]
	}
	return n
}

func (p positions) String() string {
	var b strings.Builder
	for i, n := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

func parsePositions(text string) (p positions, ok bool) {
	for word := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > maxField || len(p) > 0 && n <= p[len(p)-1] {
			return nil, false
		}
		p = append(p, n)
	}
	return p, len(p)%2 == 0
}
