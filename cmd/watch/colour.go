package watch

import (
	"hash/fnv"

	"github.com/gdamore/tcell/v2"

	"c2c/sessions"
)

// palette has the colours for names. They can be read on a dark and on a light background. If a
// terminal has fewer colours, the library takes the nearest ones; with NO_COLOR it uses none.
var palette = []int{33, 37, 64, 136, 166, 125, 61, 30, 94, 97, 131, 71, 172, 68, 133, 107}

// colourOf returns a name's colour. It is always the same colour, unless another name on this
// screen has it.
func (c *canvas) colourOf(name string) tcell.Style {
	i, known := c.colours[name]
	if !known {
		hash := fnv.New32a()
		hash.Write([]byte(name))
		i = int(hash.Sum32() % uint32(len(palette)))
		taken := map[int]bool{}
		for _, other := range c.colours {
			taken[other] = true
		}
		for n := 0; n < len(palette) && taken[i]; n++ {
			i = (i + 1) % len(palette)
		}
		c.colours[name] = i
	}
	return bold.Foreground(tcell.PaletteColor(palette[i]))
}

// sign shows the state of a session: a mark before its name, and the colour of both.
type sign struct {
	mark  string
	style tcell.Style
}

var signs = map[sessions.State]sign{
	sessions.Waiting:  {"!", bold.Foreground(tcell.PaletteColor(160))},
	sessions.Busy:     {"»", plain.Foreground(tcell.PaletteColor(136))},
	sessions.Idle:     {"·", plain.Foreground(tcell.PaletteColor(64))},
	sessions.Away:     {"~", dim},
	sessions.Absent:   {"-", dim},
	sessions.Person:   {"@", plain.Foreground(tcell.PaletteColor(33))},
	sessions.External: {"<", plain.Foreground(tcell.PaletteColor(33))},
}

func signOf(does sessions.State) sign {
	if s, known := signs[does]; known {
		return s
	}
	return sign{" ", plain}
}
