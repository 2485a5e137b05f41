package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"c2c/client"
	"c2c/inbox/mail"
)

// record is the client's file of a session, from an offset on: the client writes the messages that it takes behind it.
type record struct {
	path string // empty: there is none
	from int64
}

// maxRecord bounds how much c2c reads of it, in bytes, and maxRecordLine bounds one line, which may have a picture.
const (
	maxRecord     = 16 << 20
	maxRecordLine = 4 << 20
)

// recordOf returns the record of the session that a process of the client has now.
func recordOf(config string, process int) record {
	said, ok := client.ReadClaudeRecord(filepath.Join(config, "sessions", strconv.Itoa(process)+".json"))
	if !ok || said.PID != process || !mail.ValidName(said.SessionID) {
		return record{}
	}
	path, err := findHistory([]string{config}, said.SessionID)
	if err != nil {
		return record{} // a session has none before its first turn
	}
	info, err := os.Stat(path)
	if err != nil {
		return record{}
	}
	return record{path, info.Size()}
}

// prompted returns the ids of the first messages, in order, that the client has since written into the record as prompts.
func (r record) prompted(msgs []mail.Message) (ids []string) {
	if r.path == "" {
		return nil
	}
	f, err := os.Open(r.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(r.from, io.SeekStart); err != nil {
		return nil
	}
	var prompts []string
	lines := bufio.NewScanner(io.LimitReader(f, maxRecord))
	lines.Buffer(nil, maxRecordLine)
	for lines.Scan() {
		var e entry
		if bytes.Contains(lines.Bytes(), []byte(`"user"`)) && json.Unmarshal(lines.Bytes(), &e) == nil && e.Type == "user" && !e.IsSidechain && e.Message != nil {
			prompts = append(prompts, e.Message.Content)
		}
	}
	for _, m := range msgs {
		has := false
		for _, p := range prompts {
			has = has || strings.Contains(p, m.InlineEnvelope())
		}
		if !has {
			break
		}
		ids = append(ids, m.ID)
	}
	return ids
}
