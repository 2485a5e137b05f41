package proc

import (
	"encoding/binary"
	"errors"
	"maps"
	"reflect"
	"testing"
)

// record is an answer of macOS's kernel with these bytes at these offsets, as its headers have them.
func record(size int, parts map[int]any) []byte {
	b := make([]byte, size)
	for at, part := range parts {
		switch v := part.(type) {
		case string:
			copy(b[at:], v)
		case int:
			binary.LittleEndian.PutUint32(b[at:], uint32(v))
		}
	}
	return b
}

func TestAProcessOfMacOS(t *testing.T) {
	facts := map[int]any{0: 1_790_000_000, 8: 123_456, 40: 4711, 243: "claude", 392: 501, 560: 4700, 564: 4711, 572: 0x10000003, 576: 4711}
	s, uid, name, err := kinfo(record(648, facts), 4711)
	want := Stat{Parent: 4700, Group: 4711, Terminal: 0x10000003, Foreground: 4711, Start: 1_790_000_000_123_456}
	if s != want || uid != 501 || name != "claude" || err != nil {
		t.Errorf("%+v, %d, %q, %v", s, uid, name, err)
	}
	facts[572] = -1
	if s, _, _, err := kinfo(record(648, facts), 4711); s.Terminal != 0 || err != nil {
		t.Errorf("without a terminal: %+v, %v", s, err)
	}
	facts[36] = 5
	for about, b := range map[string][]byte{"a zombie": record(648, facts), "none": nil, "too short": record(647, facts), "another": record(648, map[int]any{40: 1})} {
		if _, _, _, err := kinfo(b, 4711); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", about, err)
		}
	}
}

func TestTheArgumentsOfMacOS(t *testing.T) {
	type answer struct {
		Path      string
		Args, Env []string
	}
	for given, want := range map[string]answer{
		"\x03\x00\x00\x00/opt/bin/node\x00\x00\x00node\x00\x00-v\x00HOME=/Users/a\x00A=\x00\x00ptr_munge=\x00": {"/opt/bin/node", []string{"node", "", "-v"}, []string{"HOME=/Users/a", "A="}},
		"\x01\x00\x00\x00/bin/zsh\x00\x00\x00\x00-zsh\x00":                                                     {"/bin/zsh", []string{"-zsh"}, nil},
		"\x09\x00\x00\x00/bin/zsh\x00-zsh":                                                                     {"/bin/zsh", []string{"-zsh"}, nil},
		"\x00\x00\x00\x00":                                                                                     {},
		"\x01\x00":                                                                                             {},
		"":                                                                                                     {},
	} {
		var got answer
		if got.Path, got.Args, got.Env = arguments([]byte(given)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", given, got, want)
		}
	}
}

func TestTheFilesOfMacOS(t *testing.T) {
	// 0 and 3 are files, 1 is a socket, and then half an entry comes.
	if fds := maps.Collect(descriptors(record(28, map[int]any{0: 0, 4: 1, 8: 1, 12: 2, 16: 3, 20: 1}))); !maps.Equal(fds, map[int]int{0: fdVnode, 1: fdSocket, 3: fdVnode}) {
		t.Error(fds)
	}
	if path := pathAt(record(1200, map[int]any{176: "/dev/ttys003"}), filePathSize, filePath); path != "/dev/ttys003" || !(File{Path: path}).IsTerminal() {
		t.Errorf("%q", path)
	}
	if path := pathAt(record(2352, map[int]any{152: "/Users/a/shop", 1328: "/"}), foldersSize, folderPath); path != "/Users/a/shop" {
		t.Errorf("%q", path)
	}
	if path := pathAt(record(1199, map[int]any{176: "/dev/ttys003"}), filePathSize, filePath); path != "" {
		t.Errorf("%q of half an answer", path)
	}
}

func TestTheSocketsOfMacOS(t *testing.T) {
	const port, far = 0x8713, 0xd204 // 4999 and 1234, in the order of the network
	four := map[int]any{160: 77, 256: 2, 264: far, 268: port, 288: 1, 308: 0x0201000a, 324: 0x0100007f, 344: 4}
	six := map[int]any{160: 78, 256: 2, 268: port, 288: 2, 324: 0x01000000, 344: 1}
	for about, c := range map[string]struct {
		facts map[int]any
		want  TCPSocket
	}{
		"a connection": {four, TCPSocket{"0100007F:1387", "0201000A:04D2", "01", 501, "77"}},
		"IPv6":         {six, TCPSocket{"00000000000000000000000001000000:1387", "00000000000000000000000000000000:0000", Listening, 501, "78"}},
	} {
		if s, ok := socket(record(792, c.facts), 501); s != c.want || !ok || !s.isAt(4999) || s.isAt(499) {
			t.Errorf("%s: %+v, %v", about, s, ok)
		}
	}
	for about, b := range map[string][]byte{"UDP": record(792, map[int]any{256: 1}), "half": record(791, four), "nothing": nil} {
		if s, ok := socket(b, 501); ok {
			t.Errorf("%s: %+v", about, s)
		}
	}
}
