package proc

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
)

// maxHead is how many bytes BuildID reads of a program. Go's linker puts the id near the beginning.
const maxHead = 64 << 10

// OwnBuildID returns the build id of the running program. Without /proc it reads the program's file.
// A newer program could have replaced that file, but hardly so soon after the start of the process,
// when a caller should call it.
func OwnBuildID() string {
	if id := BuildID("/proc/self/exe"); id != "" {
		return id
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return BuildID(path)
}

// BuildID returns the id that Go gave to a build of a program; "" if there is no id, or if the file
// cannot be read. On Linux the path may be /proc/<pid>/exe: it leads to the program of a process
// even if the program's file was replaced or removed.
//
// BuildID does not use debug/buildinfo, which would link readers for all formats of programs.
func BuildID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, maxHead)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return ""
	}
	return buildIDIn(head[:n])
}

// buildIDIn finds the id as cmd/internal/buildid does. The id is in an ELF note: the size of the
// name "Go", the size of the id, the type 4, the name, the id. If there is no such note, the id is
// after a mark at the beginning of the code.
func buildIDIn(head []byte) string {
	name := []byte("\x04\x00\x00\x00Go\x00\x00")
	for at := 0; ; {
		i := bytes.Index(head[at:], name)
		if i < 0 {
			break
		}
		at += i
		if at >= 8 {
			size := int64(binary.NativeEndian.Uint32(head[at-4:]))
			if id := head[at+len(name):]; size > 0 && size <= int64(len(id)) && size < 256 {
				return strings.TrimRight(string(id[:size]), "\x00")
			}
		}
		at += len(name)
	}
	_, id, found := bytes.Cut(head, []byte("\xff Go build ID: \""))
	id, _, ended := bytes.Cut(id, []byte("\"\n \xff"))
	if !found || !ended || len(id) >= 256 {
		return ""
	}
	return string(id)
}
