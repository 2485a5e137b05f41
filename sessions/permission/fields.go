package permission

import (
	"encoding/json"
	"strings"

	"c2c/inbox/mail"
)

// Field is an argument of a tool.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"` // the text of a string, the JSON of any other value
}

// Fields parses the shown input into its fields. It returns nil if the input is not one whole JSON
// object. It leaves out only a field that repeats the description.
func (r Request) Fields() (fields []Field) {
	if r.Partial || !json.Valid([]byte(r.Input)) {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(r.Input))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		var raw json.RawMessage
		if err != nil || seen[name] || d.Decode(&raw) != nil {
			return nil
		}
		seen[name] = true
		value := ""
		if json.Unmarshal(raw, &value) != nil || string(raw) == "null" {
			value = string(raw)
		}
		// Call Visible once more: the JSON may have had an escape such as \u001b for a control
		// character.
		f := Field{mail.Visible(name, ""), mail.Visible(value, "\n\t")}
		if f.Name != "description" || f.Value != r.Description {
			fields = append(fields, f)
		}
	}
	return fields
}
