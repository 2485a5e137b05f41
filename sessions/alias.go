package sessions

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/mail"
)

// UnknownAliasError says that no session has the alias. If a session had it, Now is the present
// alias of the last one, and Closest has only that. Otherwise Closest has up to three aliases that
// are similar.
type UnknownAliasError struct {
	Alias, Now string
	Closest    []string
}

func (e *UnknownAliasError) Error() string {
	if e.Now != "" {
		return fmt.Sprintf("no such alias %q: it is %q now", e.Alias, e.Now)
	}
	return fmt.Sprintf("no such alias %q", e.Alias)
}

// Unwrap returns ErrNoSession.
func (e *UnknownAliasError) Unwrap() error { return ErrNoSession }

// CheckAlias returns an error if s cannot be an alias.
func CheckAlias(s string) error {
	if err := mail.CheckAlias(s); err != nil {
		return err
	}
	if strings.HasSuffix(s, ".") {
		return fmt.Errorf("alias %q must not end with a dot: in @%[1]s the dot would end a sentence", s)
	}
	if IsPersonID(s) {
		return fmt.Errorf("alias %q is reserved for a person", s)
	}
	if IsExternalID(s) {
		return fmt.Errorf("alias %q is reserved for a sender outside", s)
	}
	switch Fold(s) {
	case "all": // a message to it would look like a message to all sessions
		return fmt.Errorf("alias %q is reserved: c2c send-all writes to everybody", s)
	case "c2c", SystemAlias, "broker": // senders of c2c's own messages
		return fmt.Errorf("alias %q is reserved for c2c itself", s)
	}
	return nil
}

// NewAlias makes an alias that no session has.
func NewAlias(rows []Row, clientName string) string {
	prefix := clientName
	if p, ok := client.Find(clientName); ok {
		prefix = p.AliasPrefix
	}
	if CheckAlias(prefix+"-") != nil || len(prefix) > 32 {
		prefix = "session"
	}
	return FreeAlias(rows, prefix+"-"+word()+"-"+word())
}

// FreeAlias returns the alias if no session has it. Otherwise it appends the lowest number that
// makes the alias free, such as birch-2.
func FreeAlias(rows []Row, alias string) string {
	free := alias
	for n := 2; len(Holders(rows, free)) > 0; n++ {
		suffix := "-" + strconv.Itoa(n)
		free = alias[:min(len(alias), 64-len(suffix))] + suffix
	}
	return free
}

const words = `acorn alder amber aspen basil beech birch bloom brook cedar clay cliff cloud clover comet coral
	crane creek daisy dawn delta dune echo ember fern field finch fjord flint frost grove harbor hazel heron
	holly indigo iris ivory jade juniper kelp lake larch laurel lichen lilac linden lotus maple marsh meadow
	mint moss north oak oasis olive onyx opal orchid osprey otter pearl pebble pine plum pond poplar quartz
	rain raven reed ridge river robin rowan sage sand shore slate snow sorrel spruce stone storm summit swan
	teal thistle thyme tide topaz tulip valley violet walnut wave willow wren yarrow zephyr`

func word() string {
	list := strings.Fields(words)
	return list[rand.IntN(len(list))]
}

// UnknownAlias returns the error for an alias that no session has.
func UnknownAlias(reg *Registry, rows []Row, alias string) *UnknownAliasError {
	e, until, all := &UnknownAliasError{Alias: alias}, 0.0, []string{}
	for _, r := range rows {
		all = append(all, r.Alias())
		for _, f := range reg.Facts.Of(r.SID()).Former {
			if Fold(f.Alias) == Fold(alias) && f.Until > until {
				e.Now, until = r.Alias(), f.Until
			}
		}
	}
	if e.Closest = Closest(alias, all); e.Now != "" {
		e.Closest = []string{e.Now}
	}
	return e
}

// Closest returns up to three words that are similar to word: one of the two begins with the other,
// or they differ in a few letters.
func Closest(word string, words []string) []string {
	want := Fold(word)
	far := func(have string) int {
		have = Fold(have)
		if strings.HasPrefix(have, want) || strings.HasPrefix(want, have) {
			return 1
		}
		return distance(want, have)
	}
	most := max(2, len(want)/3)
	if len(want) < 4 {
		most = 1
	}
	var near []string
	for _, have := range words {
		if want != "" && far(have) <= most {
			near = append(near, have)
		}
	}
	sort.SliceStable(near, func(i, j int) bool { return far(near[i]) < far(near[j]) })
	return near[:min(3, len(near))]
}

// distance is the Levenshtein distance: how many letters to insert, drop or replace.
func distance(a, b string) int {
	line := make([]int, len(b)+1)
	for j := range line {
		line[j] = j
	}
	for i := range len(a) {
		diagonal := line[0]
		line[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = line[j+1]
			line[j+1] = min(d, line[j]+1, line[j+1]+1)
		}
	}
	return line[len(b)]
}
