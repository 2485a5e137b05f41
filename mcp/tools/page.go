package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/client"
	"c2c/inbox/mail"
)

const (
	carefulAnswer = 8000 // bytes of an answer for a client whose limit we have not measured
	leastAnswer   = 2000 // the least size of an answer, in bytes: a smaller one would show nothing
	reserve       = 500  // bytes of the answer for the sentences after the messages
	usualLimit    = 50   // messages or lines in a listing by default
	maxName       = 128  // the most bytes of JSON for each field except the content, in a message that is cut
	shortName     = 16   // the same limit if there is little room
)

// room returns how many bytes of an answer the client surely shows to its model.
func (c *toolCall) room() int {
	p, _ := client.Find(c.caller.Client)
	room := cmp.Or(p.Answer, carefulAnswer)
	// The client estimates one token for four characters, and counts exactly only above half of its
	// limit: stay below that.
	if tokens, err := strconv.Atoi(c.Client.env(p.AnswerTokens)); err == nil && tokens > 0 {
		room = min(room, 2*tokens)
	}
	return max(room, leastAnswer) - reserve
}

// limit returns how many entries a call asks for.
func (c *toolCall) limit() int {
	if n := c.req.GetInt("limit", usualLimit); n > 0 {
		return n
	}
	return math.MaxInt
}

// part is a piece of a message that is too long for one answer.
type part struct {
	mail.Message
	N, Of int
}

// MarshalJSON adds the number of the piece, and the number of all pieces, to the message's JSON.
func (p part) MarshalJSON() ([]byte, error) {
	b, err := p.Message.MarshalJSON()
	return fmt.Appendf(b[:max(0, len(b)-1)], `,"part":%d,"parts":%d}`, p.N, p.Of), err
}

// Parts cuts a message into pieces of at most room bytes each. It drops fields that c2c does not
// know. It shortens fields that are too long; only a file written by hand can have such fields. If
// there is little room, it shortens the fields further, until a quarter of the room is left for the
// content.
func Parts(m mail.Message, room int) []part {
	m.Extra, m.GuardHops, m.GuardChain = nil, 0, ""
	content := m.Content
	m.Content = ""
	head := ""
	for most := maxName; ; most = most * 3 / 4 {
		for _, s := range []*string{&m.From, &m.To, &m.ID, &m.Kind, &m.InReplyTo, &m.Tag} {
			for one, _ := ToJSON(*s); len(one) > most; one, _ = ToJSON(*s) {
				*s = strings.ToValidUTF8((*s)[:len(*s)/2], "")
			}
		}
		if head, _ = ToJSON(part{m, 9999, 9999}); len(head) <= room*3/4 || most <= shortName {
			break
		}
	}
	var all []part
	for len(all) == 0 || len(content) > 0 {
		n, left := 0, room-len(head)
		for n < len(content) {
			r, size := utf8.DecodeRuneInString(content[n:])
			if left -= inJSON(r, size); left < 0 && n > 0 {
				break
			}
			n += size
		}
		m.Content, content = content[:n], content[n:]
		all = append(all, part{m, len(all) + 1, 0})
	}
	for i := range all {
		all[i].Of = len(all)
	}
	return all
}

// inJSON returns the most bytes that a character of size bytes takes in JSON.
func inJSON(r rune, size int) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t':
		return 2
	case r < ' ' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError:
		return len(`\u0000`)
	}
	return size
}

// page collects the messages of one answer as a JSON array.
type page struct {
	text  strings.Builder
	room  int
	count int // number of messages in it
}

// add appends a message's JSON to the array. It returns false if that does not fit.
func (p *page) add(one string) bool {
	if p.text.Len()+len(one)+len("[]") > p.room {
		return false
	}
	p.text.WriteString(map[bool]string{true: "[", false: ","}[p.count == 0] + one)
	p.count++
	return true
}

// result returns the answer: the array, and the sentences after it.
func (p *page) result(sentences ...string) *mcp.CallToolResult {
	if p.count == 0 {
		p.text.WriteString("[")
	}
	res := mcp.NewToolResultText(p.text.String() + "]")
	for _, s := range sentences {
		if s != "" {
			res.Content = append(res.Content, mcp.NewTextContent(s))
		}
	}
	return res
}

// lastThatFit returns the lowest index first for which the entries from first to n-1 fit into one
// answer. The function sizeOf returns the bytes of entry i.
func (c *toolCall) lastThatFit(n int, sizeOf func(i int) int) (first int) {
	room := c.room() - len("[]")
	for first = n; first > 0; first-- {
		if room -= sizeOf(first-1) + len(","); room < 0 {
			break
		}
	}
	return first
}

// listing answers with the first entries of the list all, as many as fit. If entries were left out,
// it adds their number and the text in left. The number includes the argument before: the entries
// that the caller has left out. If an entry is longer than half the answer, and the function
// message is set, listing shows only the first part of the entry's message, and adds the sentence
// in cut.
func listing[T any](c *toolCall, all []T, before int, left string, message func(T) mail.Message, cut string) (*mcp.CallToolResult, error) {
	p, isCut, rest := page{room: c.room()}, "", ""
	for _, v := range all {
		one, err := ToJSON(v)
		if err == nil && message != nil && len(one) > p.room/2 {
			one, err = ToJSON(Parts(message(v), p.room/2)[0])
			isCut = cut
		}
		if err != nil {
			return nil, err
		}
		if !p.add(one) {
			break
		}
	}
	if n := before + len(all) - p.count; n > 0 {
		rest = fmt.Sprintf("%d %s", n, left)
	}
	return p.result(isCut, rest), nil
}

func ToJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
