package watch

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"
)

// editor holds a text that the person types.
type editor struct {
	title string
	text  []rune
	at    int  // the place of the cursor, in runes; it is always between two characters
	one   bool // the text is one line, for example for a search
	done  func(text string)

	changed func(text string) // if set, called after each key
	left    func()            // if set, called when the person leaves with Esc
}

// key applies a key to the text. It returns false if the key means something else.
func (e *editor) key(k *tcell.EventKey, pasting bool) bool {
	before, behind := e.around()
	switch k.Key() {
	case tcell.KeyRune:
		if k.Modifiers()&tcell.ModAlt != 0 {
			return false
		}
		e.insert(k.Rune())
	case tcell.KeyCtrlJ:
		e.newLine()
	case tcell.KeyEnter:
		if !pasting && k.Modifiers()&tcell.ModAlt == 0 {
			return false
		}
		e.newLine()
	case tcell.KeyTab:
		if !pasting {
			return false
		}
		e.insert(' ')
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		e.text, e.at = slices.Delete(e.text, before, e.at), before
	case tcell.KeyDelete:
		e.text = slices.Delete(e.text, e.at, behind)
	case tcell.KeyLeft:
		e.at = before
	case tcell.KeyRight:
		e.at = behind
	case tcell.KeyHome, tcell.KeyCtrlA:
		e.at = 0
	case tcell.KeyEnd, tcell.KeyCtrlE:
		e.at = len(e.text)
	case tcell.KeyCtrlU:
		e.text, e.at = slices.Clone(e.text[e.at:]), 0
	case tcell.KeyCtrlW:
		from := len([]rune(strings.TrimRight(string(e.text[:e.at]), " ")))
		for from > 0 && e.text[from-1] != ' ' && e.text[from-1] != '\n' {
			from--
		}
		e.text = slices.Delete(e.text, from, e.at)
		e.at = from
	default:
		return false
	}
	return true
}

// around returns the start of the character before the cursor, and the end of the character after
// it, in runes. It counts characters as people see them: the cursor never stands before an accent
// or within a joined emoji.
func (e *editor) around() (before, behind int) {
	rest, state := string(e.text), -1
	for rest != "" && behind <= e.at {
		if behind < e.at {
			before = behind
		}
		var char string
		char, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		behind += utf8.RuneCountInString(char)
	}
	return before, behind
}

func (e *editor) insert(r rune) {
	e.text = slices.Insert(e.text, e.at, r)
	e.at++
}

func (e *editor) newLine() {
	if e.one {
		e.insert(' ')
		return
	}
	e.insert('\n')
}

// layout breaks the text into lines that fit into the given columns, and returns the cursor's
// position. It breaks lines within words, too: otherwise a word that grows behind the cursor could
// move to the next line, with the text before the cursor.
func (e *editor) layout(columns int) (lines []string, row, col int) {
	line, used, at := "", 0, 0
	text, state := string(e.text), -1
	for {
		if at <= e.at {
			row, col = len(lines), used
		}
		if text == "" {
			return append(lines, line), row, col
		}
		var char string
		var n int
		char, text, n, state = uniseg.FirstGraphemeClusterInString(text, state)
		shown, runes := word(char), utf8.RuneCountInString(char)
		if at += runes; runes > 1 || shown != char {
			n = width(shown)
		}
		if char == "\n" || used+n > columns {
			lines, line, used = append(lines, line), "", 0
		}
		if char != "\n" {
			line, used = line+shown, used+n
		}
	}
}
