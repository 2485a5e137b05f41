package inbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strconv"

	"c2c/inbox/mail"
	"c2c/internal/fields"
)

// splice adds messages to the content of a mailbox file, without parsing the messages in it.
func splice(file []byte, msgs []mail.Message) []byte {
	body := bytes.TrimRight(file, " \t\r\n")
	body = bytes.TrimRight(bytes.TrimSuffix(body, []byte("]")), " \t\r\n")
	if len(bytes.TrimSpace(body)) <= 1 {
		return mail.Array(msgs)
	}
	return append(append(bytes.Clone(body), ',', '\n'), mail.Array(msgs)[2:]...)
}

// count returns how many messages a mailbox file has, and whether messages can be appended. It does
// not parse a file in our own layout, because that would take a sender longer than the durable
// write. So only the reader finds damage within a line.
func count(file []byte) (n int, ok bool) {
	if objects, ok := fields.Lines(file); ok || len(file) == 0 {
		return len(objects), true
	}
	var raws []json.RawMessage
	err := json.Unmarshal(file, &raws)
	return len(raws), err == nil
}

// decode reads a mailbox file and returns every message that is still readable. The result damaged
// reports whether a part of the file is not readable.
func decode(file []byte) (msgs []mail.Message, damaged bool) {
	if len(bytes.TrimSpace(file)) == 0 {
		return nil, false
	}
	if msgs, ok := decodeLines(file); ok {
		return msgs, false
	}
	return decodeArray(file)
}

// decodeArray is decode for a JSON array in any layout.
func decodeArray(file []byte) (msgs []mail.Message, damaged bool) {
	var raws []json.RawMessage
	if json.Unmarshal(file, &raws) != nil {
		return salvage(file), true
	}
	for _, raw := range raws {
		var m mail.Message
		if m.UnmarshalJSON(raw) != nil {
			damaged = true
			continue
		}
		msgs = append(msgs, m)
	}
	return msgs, damaged
}

// decodeLines is decode for a file in our own layout in which every line is a message. It scans
// each line once and copies nothing.
func decodeLines(file []byte) (msgs []mail.Message, ok bool) {
	objects, ok := fields.Lines(file)
	if !ok {
		return nil, false
	}
	msgs = make([]mail.Message, len(objects))
	for i, line := range objects {
		if !json.Valid(line) || msgs[i].Parse(line) != nil || msgs[i].ContentDropped {
			return nil, false
		}
	}
	return msgs, true
}

// decodeSome is decode for some of the messages. The argument holds is a function that reports
// whether a file, or a line of it, may have one of these messages. decodeSome does not parse other
// lines. If holds is nil, it returns all messages.
func decodeSome(file []byte, holds func([]byte) bool) (msgs []mail.Message) {
	if holds == nil {
		msgs, _ = decode(file)
		nameLegacy(msgs)
		return msgs
	}
	if len(file) == 0 || !holds(file) {
		return nil
	}
	objects, ok := fields.Lines(file)
	for _, line := range objects {
		// nameLegacy counts equal messages without an id, so it needs all messages without an id.
		if !holds(line) && bytes.Contains(line, idField) {
			continue
		}
		var m mail.Message
		if ok = json.Unmarshal(line, &m) == nil; !ok {
			break
		}
		msgs = append(msgs, m)
	}
	if !ok {
		msgs, _ = decode(file)
	}
	nameLegacy(msgs)
	return msgs
}

// firstOf returns the first message after the first acked messages of a file. It does not read on
// after this message. The file may have any layout.
func firstOf(file io.Reader, acked int) (msg mail.Message, err error) {
	d := json.NewDecoder(io.LimitReader(file, maxRecord))
	open, err := d.Token()
	if open != json.Delim('[') {
		err = cmp.Or(err, errDamaged)
	}
	for i := 0; err == nil && (i == 0 || i <= acked); i++ {
		msg = mail.Message{}
		err = d.Decode(&msg)
	}
	if err != nil && !errors.As(err, new(*fs.PathError)) { // a PathError comes from the disk, any other error from damaged content
		err = errDamaged
	}
	return msg, err
}

var idField = []byte(`"message_id"`)

const maxRecord = 2 << 20 // how far firstOf looks for the end of a message

// salvage returns each message that it can still read in a damaged file. Our files have one message
// per line.
func salvage(file []byte) (msgs []mail.Message) {
	for line := range bytes.Lines(file) {
		var m mail.Message
		if json.Unmarshal(bytes.Trim(line, " \t\r\n[],"), &m) == nil {
			msgs = append(msgs, m)
		}
	}
	return msgs
}

var errDamaged = errors.New("the file is damaged: the next reader gets the messages that can still be read, and c2c keeps a copy")

// nameLegacy gives ids to messages without one. Two equal messages get two ids.
func nameLegacy(msgs []mail.Message) {
	seen := map[string]int{}
	for i := range msgs {
		if msgs[i].ID == "" {
			id := msgs[i].LegacyID()
			if seen[id]++; seen[id] > 1 {
				id += "-" + strconv.Itoa(seen[id])
			}
			msgs[i].ID = id
		}
	}
}
