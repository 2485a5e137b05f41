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

// record is the history file of a session. The client appends the messages that it takes, so
// messages taken since recordOf stand after offset.
type record struct {
	path   string // empty: the session has no file yet
	offset int64
}

// maxRecord is how many bytes of a record c2c reads at most. maxRecordLine is the longest line that
// it reads; a line may hold a picture.
const (
	maxRecord     = 16 << 20
	maxRecordLine = 4 << 20
)

// recordOf returns the record of the session that is open now in a process of the client.
func recordOf(config string, process int) record {
	said, ok := client.ReadClaudeRecord(filepath.Join(config, "sessions", strconv.Itoa(process)+".json"))
	if !ok || said.PID != process || !mail.ValidName(said.SessionID) {
		return record{}
	}
	path, err := findHistory([]string{config}, said.SessionID)
	if err != nil {
		return record{} // before its first turn a session has no history
	}
	info, err := os.Stat(path)
	if err != nil {
		return record{}
	}
	return record{path, info.Size()}
}

// prompted returns the ids of the messages in msgs that the client has written into the record as
// prompts since the call of recordOf. It stops at the first message that is missing there.
func (r record) prompted(msgs []mail.Message) (ids []string) {
	if r.path == "" {
		return nil
	}
	f, err := os.Open(r.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
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
