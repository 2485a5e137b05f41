package sessions

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"c2c/inbox/mail"
)

// SentLately reads the last logLately bytes of broker.log. These are about 300 lines.
const logLately = 64 << 10

// Sent returns sender, receiver and time of a message that is not kept any more, if broker.log has
// them.
func (l *EventLog) Sent(id string) (found []mail.Message, err error) {
	for n := 0; n <= logKeep && len(found) == 0; n++ {
		name := logFile
		if n > 0 {
			name += "." + strconv.Itoa(n)
		}
		data, rerr := l.root.ReadIf(name)
		err = errors.Join(err, rerr)
		found = sentIn(data, id)
	}
	return found, err
}

// SentLately is like Sent, but reads only the end of broker.log.
func (l *EventLog) SentLately(id string) ([]mail.Message, error) {
	f, err := l.root.Open(logFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(info.Size(), logLately))
	n, err := f.ReadAt(data, info.Size()-int64(len(data)))
	if err == io.EOF {
		err = nil // the log was rotated or truncated just now
	}
	return sentIn(data[:n], id), err
}

// sentIn finds, in lines of the log, the messages whose ids end with id.
func sentIn(lines []byte, id string) (found []mail.Message) {
	if len(id) < mail.ShortLen {
		return nil
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var sent struct {
			Event string  `json:"event"`
			TS    float64 `json:"ts"`
			From  string  `json:"from_alias"`
			To    string  `json:"to_alias"`
			ID    string  `json:"message_id"`
		}
		if !bytes.Contains(line, []byte(id)) || json.Unmarshal(line, &sent) != nil || sent.Event != EventSent || !strings.HasSuffix(sent.ID, id) {
			continue
		}
		if key := sent.ID + "\x00" + strings.ToLower(sent.From); !seen[key] {
			seen[key] = true
			found = append(found, mail.Message{From: sent.From, To: sent.To, ID: sent.ID, TS: sent.TS})
		}
	}
	return found
}
