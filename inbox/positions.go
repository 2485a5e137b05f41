package inbox

import (
	"slices"
	"strconv"
	"strings"
)

// On a full disk a reader cannot write: neither the archive, nor the messages that are left of a file that it has partly handed
// over. A rename needs no space, so then the name of the file says which of its messages were read:
//
//	part-<positions>-<number>-<count>-<bytes>-<archived>-<unix ms>-<reader>.json
//
// The next reader that finds room archives these and writes the rest anew, under a name without positions. Until then they stand
// in the file and are handed over to nobody. A version that does not know such names passes the file over: it hands over none of its
// messages, and removes nothing.
const partPrefix = "part-"

// maxField bounds the numbers of a name.
const maxField = 1 << 52

// positions are those of messages in their file: from, behind, from, behind, and so on, ascending. The first message has position 0.
type positions []int

// positionsWhere gives those of n positions that match.
func positionsWhere(n int, match func(position int) bool) (p positions) {
	for i := range n {
		if match(i) == (len(p)%2 == 0) { // one begins or ends
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

// count is how many there are.
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
