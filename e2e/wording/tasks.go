package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"c2c/mcp/tools"
)

// task is something that an agent wants of c2c, in words, and the call that does it. want has the
// arguments that the call must have, each as a regular expression; "" means that the call must not
// have the argument.
type task struct {
	words string
	tool  string
	want  map[string]string
}

type args = map[string]string

const mailOfBirch = `You have got: <c2c event="message" from="birch" by="process" id="cb101ab7" kind="question">Is the build green?</c2c> `

// tasks has what models do with c2c. No task names a tool, and none is written from the tools'
// descriptions.
var tasks = []task{
	{"Tell the session amber that the build is green again.", "send", args{"to": "^amber$", "content": "(?i)build", "in_reply_to": ""}},
	{"Let cedar know that the parser is ready for review. You need no answer.", "send", args{"to": "^cedar$", "content": "(?i)parser"}},
	{"Ask birch which port the server uses. You go on working; the answer can wait.", "send", args{"to": "^birch$", "kind": "^question$"}},
	{"You cannot go on before you know from birch which port the server uses. Find out.", "ask", args{"to": "^birch$", "content": "(?i)port"}},
	{mailOfBirch + "The build is green. Tell birch.", "send", args{"to": "", "in_reply_to": "cb101ab7", "content": "(?i)green"}},
	{mailOfBirch + "You do not know yet. Say to birch that you look into it.", "send", args{"to": "", "in_reply_to": "cb101ab7"}},
	{mailOfBirch + "Answer no, and say that this was your whole task and you are done.", "send", args{"to": "", "in_reply_to": "cb101ab7", "tag": "^done$"}},
	{"The deployment is broken, and amber must know it before anything else.", "send", args{"to": "^amber$", "tag": "^(urgent|blocking|fail)$"}},
	{"Tell every other session that the main branch is frozen.", "send", args{"to": "^all$", "content": "(?i)frozen|freeze"}},
	{"Say in the room review that the tests pass.", "send", args{"to": "^#review$", "content": "(?i)test"}},
	{"Ask amber, in the room review, to look at the parser.", "send", args{"to": "^(amber)?#review$", "content": "(?i)parser"}},
	{"Everybody in the room release must stop merging now.", "send", args{"to": "^#release$", "content": "@all", "reason": "."}},
	{"Give dune the task to update the docs, and be told if there is no answer in an hour.", "send", args{"to": "^dune$", "answer_by": "^(1h|60m)"}},
	{"You were told that mail waits for you. Read it.", "poll_inbox", args{"keep": ""}},
	{"Before you end your work: see whether somebody has written to you.", "poll_inbox", nil},
	{"See what mail waits for you, but leave it there for later.", "poll_inbox", args{"keep": "true"}},
	{"Find out which other sessions there are.", "list", nil},
	{"Find out whether amber is at work or has ended.", "list", nil},
	{"Find out which rooms there are.", "look", args{"at": "^rooms$"}},
	{"Read what was said in the room review.", "look", args{"at": "^posts$", "of": "^#?review$"}},
	{"You have forgotten what birch wrote to you an hour ago. Look it up.", "look", args{"at": "^history$"}},
	{"A message refers to an earlier conversation, that of message cb101ab7. Read all of it.", "look", args{"at": "^thread$", "of": "cb101ab7"}},
	{"You have sent the message 83fe9a01. Find out whether it was read.", "look", args{"at": "^status$", "of": "83fe9a01"}},
	{"Find out who works on which files.", "look", args{"at": "^claims$"}},
	{"You begin to edit /src/shop/api.go. See to it that others are warned.", "claim", args{"paths": "/src/shop/api.go", "release": ""}},
	{"You are finished with /src/shop/api.go: others may edit it again.", "claim", args{"release": "true"}},
	{"Take part in the room review from now on.", "room", args{"name": "^#?review$", "do": "^join$"}},
	{"You want to hear nothing more from the room lounge, but stay a member.", "room", args{"name": "^#?lounge$", "do": "^muted$"}},
	{"You want to go on when the turn of amber is over. See to it that you hear of that.", "notify_when", args{"alias": "^amber$", "when": "^idle$"}},
	{"Call yourself reviewer from now on.", "me", args{"alias": "^reviewer$"}},
}

// The outcomes of a task, beside failed.
const (
	right     = "right"
	wrongTool = "wrong tool"
	wrongArgs = "wrong arguments"
	noCall    = "no call"
)

// prompt returns the text that asks for one call. It has what a model reads of c2c's server.
func (k task) prompt() (string, error) {
	var all []any
	for _, tool := range tools.Catalog() {
		if !tool.Hidden() {
			listed := tool.Listed()
			all = append(all, map[string]any{"name": listed.Name, "description": listed.Description, "inputSchema": listed.RawInputSchema})
		}
	}
	list, err := json.MarshalIndent(all, "", " ")
	return fmt.Sprintf("You are the session coral. A server of tools says of itself:\n\n%s\n\nIts tools:\n%s\n\nWhat you want: %s\n\n"+
		`Which one call do you make? Do not make it, and use no other tool. Answer with one line of JSON alone: {"tool": NAME, "arguments": {…}}`,
		tools.Instructions, list, k.words), err
}

var callIn = regexp.MustCompile(`\{\s*"tool"\s*:`)

// judge says whether an answer has the call, and if not, why.
func (k task) judge(answer string) (outcome, why string) {
	var call struct {
		Tool      string
		Arguments map[string]any
	}
	found := callIn.FindAllStringIndex(answer, -1)
	if len(found) == 0 || json.NewDecoder(strings.NewReader(answer[found[len(found)-1][0]:])).Decode(&call) != nil {
		return noCall, ""
	}
	i := slices.IndexFunc(tools.Catalog(), func(t tools.Tool) bool { return t.Name == call.Tool })
	if i < 0 || call.Tool != k.tool {
		return wrongTool, call.Tool
	}
	given, err := tools.Catalog()[i].Arguments(call.Arguments)
	if err != nil {
		return wrongArgs, err.Error()
	}
	for name, want := range k.want {
		v, has := given[name]
		text := fmt.Sprint(v)
		if has != (want != "") && text != "false" || want != "" && !regexp.MustCompile(want).MatchString(text) {
			return wrongArgs, fmt.Sprintf("%s is %q", name, text)
		}
	}
	return right, ""
}

// doAll gives each task to the client so many times, writes each result to out, and prints a row
// for each task.
func (e experiment) doAll(ctx context.Context, times int, out, table io.Writer) error {
	var mu sync.Mutex
	var running sync.WaitGroup
	var errs error
	counts := make([]map[string]int, len(tasks))
	last := make([]string, len(tasks))
	slots := make(chan struct{}, max(1, e.parallel))
	for n := range times * len(tasks) {
		i := n % len(tasks)
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			r, why, err := e.do(ctx, tasks[i])
			mu.Lock()
			defer mu.Unlock()
			if counts[i] == nil {
				counts[i] = map[string]int{}
			}
			counts[i][r.Result]++
			if r.Result != right {
				last[i] = strings.TrimSpace(r.Result + " " + why)
			}
			errs = errors.Join(errs, err, json.NewEncoder(out).Encode(r))
		})
	}
	running.Wait()
	t := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	all := 0
	fmt.Fprintln(t, "RIGHT\tOF\tCALL\tTASK\tLAST MISTAKE")
	for i, k := range tasks {
		all += counts[i][right]
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\n", counts[i][right], times, k.tool, k.words, last[i])
	}
	fmt.Fprintf(t, "%d\t%d\t\tall tasks\t\n", all, times*len(tasks))
	return errors.Join(errs, t.Flush(), ctx.Err())
}

// do gives a task to the client, in an empty folder.
func (e experiment) do(ctx context.Context, k task) (r result, why string, err error) {
	prompt, err := k.prompt()
	if err != nil {
		return r, "", err
	}
	dir, err := os.MkdirTemp("", "wording-")
	if err != nil {
		return r, "", err
	}
	defer os.RemoveAll(dir)
	r, err = e.answer(ctx, dir, prompt)
	r.Wording = k.words
	if r.Result != failed {
		r.Result, why = k.judge(r.Answer)
	}
	return r, why, err
}
