package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// scripted returns a server whose tool "t" runs f.
func scripted(f server.ToolHandlerFunc) *server.MCPServer {
	srv := server.NewMCPServer("test", "0")
	srv.AddTool(mcp.NewTool("t"), f)
	return srv
}

func answering(text string) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(text), nil
	}
}

func rpcMessage(id int, method, params string) string {
	if params == "" {
		params = "{}"
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

func call(id int) string { return rpcMessage(id, "tools/call", `{"name":"t"}`) }

func initialize(id int, version string) string {
	return rpcMessage(id, "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"test","version":"0"}}`)
}

// reply is any line from the server.
type reply struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// patient is for tests whose subject is not time: a machine may be slow.
var patient = StdioLimits{Write: time.Hour, Drain: time.Hour}

// exchange serves input until its end and returns every line of output.
func exchange(t *testing.T, srv *server.MCPServer, input string) []reply {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(t.Context(), strings.NewReader(input), &out, srv, patient); err != nil {
		t.Fatalf("serve: %v", err)
	}
	return replies(t, out.String())
}

// replies also fails on anything that is not one JSON-RPC message a line.
func replies(t *testing.T, out string) []reply {
	t.Helper()
	var all []reply
	for l := range strings.Lines(out) {
		var r reply
		if err := json.Unmarshal([]byte(l), &r); err != nil || !strings.HasPrefix(l, `{"jsonrpc":"2.0",`) || !strings.HasSuffix(l, "\n") {
			t.Fatalf("not a JSON-RPC line: %q (%v)", l, err)
		}
		all = append(all, r)
	}
	return all
}

func TestPipelinedRequestsAreAllAnsweredAfterEOF(t *testing.T) {
	for range 20 {
		input := initialize(0, "2025-11-25")
		for id := 1; id <= 20; id++ {
			switch id % 3 {
			case 0:
				input += rpcMessage(id, "ping", "")
			case 1:
				input += rpcMessage(id, "tools/list", "")
			case 2:
				input += call(id)
			}
		}
		got := map[int]int{}
		for _, r := range exchange(t, scripted(answering("hi")), strings.TrimSuffix(input, "\n")) {
			if r.Error != nil {
				t.Fatalf("answer %d is an error: %s", *r.ID, r.Error.Message)
			}
			got[*r.ID]++
		}
		for id := range 21 {
			if got[id] != 1 {
				t.Fatalf("request %d was answered %d times, want once", id, got[id])
			}
		}
	}
}

func TestToolCallsRunInOrder(t *testing.T) {
	var order []string
	srv := scripted(func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		order = append(order, r.GetString("n", "")) // unguarded: -race would tell
		return mcp.NewToolResultText("ok"), nil
	})
	var input, want strings.Builder
	for id := range 30 {
		input.WriteString(rpcMessage(id, "tools/call", fmt.Sprintf(`{"name":"t","arguments":{"n":"%d"}}`, id)))
		fmt.Fprintf(&want, "%d,", id)
	}
	exchange(t, srv, input.String())
	if got := strings.Join(order, ",") + ","; got != want.String() {
		t.Errorf("tool calls ran in order %s", got)
	}
}

func TestNotificationsOfAHandlerComeBeforeItsAnswer(t *testing.T) {
	var srv *server.MCPServer
	srv = scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for range 3 {
			if err := srv.SendNotificationToClient(ctx, "notifications/test", nil); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("ok"), nil
	})
	input := initialize(0, "2025-11-25")
	r, w := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), r, outW, srv, patient); outW.Close() }()
	lines := bufio.NewScanner(outR)
	io.WriteString(w, input)
	lines.Scan()
	for id := 1; id <= 50; id++ {
		io.WriteString(w, call(id))
		for range 3 {
			if lines.Scan(); !strings.Contains(lines.Text(), "notifications/test") {
				t.Fatalf("call %d: want a notification first, got %s", id, lines.Text())
			}
		}
		if lines.Scan(); !strings.Contains(lines.Text(), fmt.Sprintf(`"id":%d,`, id)) {
			t.Fatalf("call %d: want the answer, got %s", id, lines.Text())
		}
	}
	w.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

func TestVersionNegotiationNeverGoesPast20251125(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05",
		"2025-03-26": "2025-03-26",
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25",
		"2031-01-01": "2025-11-25",
		"rubbish":    "2025-11-25",
	} {
		var got struct{ ProtocolVersion string }
		json.Unmarshal(exchange(t, scripted(nil), initialize(1, asked))[0].Result, &got)
		if got.ProtocolVersion != want {
			t.Errorf("asked for %s: got %q, want %s", asked, got.ProtocolVersion, want)
		}
	}
}

func TestDiscoverIsRefusedSoThatClientsInitialize(t *testing.T) {
	discover := rpcMessage(1, "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.329"},"io.modelcontextprotocol/clientCapabilities":{}}}`)
	got := exchange(t, scripted(nil), discover+initialize(2, "2025-11-25"))
	if len(got) != 2 || got[0].Error == nil || got[0].Error.Code != mcp.METHOD_NOT_FOUND {
		t.Fatalf("want -32601 first, got %+v", got)
	}
	if got[1].Error != nil {
		t.Errorf("initialize after discover: %s", got[1].Error.Message)
	}
}

func TestBadInputIsAnsweredAndServingGoesOn(t *testing.T) {
	tests := []struct {
		name, input string
		code        int // 0: no answer at all
	}{
		{"garbage", "hello there", mcp.PARSE_ERROR},
		{"half an object", `{"jsonrpc":"2.0","id":7,`, mcp.PARSE_ERROR},
		{"invalid UTF-8 outside a string", "\xff\xfe", mcp.PARSE_ERROR},
		{"hostile depth", strings.Repeat("[", 100_000), mcp.PARSE_ERROR},
		{"hostile balanced depth", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), mcp.PARSE_ERROR},
		{"hostile depth in params", `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000) + "}", mcp.PARSE_ERROR},
		{"a number", "42", mcp.INVALID_REQUEST},
		{"an empty object", "{}", mcp.INVALID_REQUEST},
		{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, mcp.INVALID_REQUEST},
		{"an empty batch", `[]`, mcp.INVALID_REQUEST},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, mcp.INVALID_REQUEST},
		{"a notification with an id that is null", `{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`, 0},
		{"no version", `{"id":7,"method":"ping"}`, mcp.INVALID_REQUEST},
		{"a method that is no string", `{"jsonrpc":"2.0","id":7,"method":3}`, mcp.INVALID_REQUEST},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, mcp.INVALID_REQUEST},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"nope"}`, mcp.METHOD_NOT_FOUND},
		{"params of the wrong type", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"x"}`, mcp.INVALID_REQUEST},
		{"a tool that is not there", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`, mcp.INVALID_PARAMS},
		{"a line over the limit", `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("x", 4<<20) + `"}`, mcp.INVALID_REQUEST},
		{"blank lines", " \r\n\n\t", 0},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/whatever","params":{"a":1}}`, 0},
		{"a broken notification", `{"jsonrpc":"2.0","method":"notifications/initialized","params":[1]}`, 0},
		{"a notification of another version", `{"jsonrpc":"1.0","method":"notifications/initialized"}`, 0},
		{"a request method sent as notification", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}`, 0},
		{"discover sent as notification", `{"jsonrpc":"2.0","method":"server/discover"}`, 0},
		{"a cancellation of nothing", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, 0},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":7,"result":{}}`, 0},
		{"an error answer to nothing", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := exchange(t, scripted(answering("hi")), tt.input+"\n"+rpcMessage(1, "ping", ""))
			var pong, codes int
			for _, r := range got {
				if r.Error != nil {
					codes = r.Error.Code
				} else if r.ID != nil && *r.ID == 1 {
					pong++
				}
			}
			want := 1
			if tt.code != 0 {
				want = 2
			}
			if codes != tt.code || pong != 1 || len(got) != want {
				t.Errorf("want error %d and a pong, got %+v", tt.code, got)
			}
		})
	}
}

func TestOversizeLineSaysHowLongItMayBe(t *testing.T) {
	var out bytes.Buffer
	in := call(1)[:40] + strings.Repeat("x", 200) + "\n" + rpcMessage(2, "ping", "")
	if err := Serve(t.Context(), strings.NewReader(in), &out, scripted(nil), StdioLimits{Line: 100}); err != nil {
		t.Fatal(err)
	}
	if got := replies(t, out.String()); len(got) != 2 || !strings.Contains(got[0].Error.Message, "100 bytes") {
		t.Errorf("got %s", out.String())
	}
}

func TestAnswersAreOneLineWhateverTheyHold(t *testing.T) {
	text := "a\nb\r\nc\u2028d\x00e</script>\U0001F600"
	got := exchange(t, scripted(answering(text)), call(1))
	var r struct{ Content []struct{ Text string } }
	if json.Unmarshal(got[0].Result, &r); len(got) != 1 || r.Content[0].Text != text {
		t.Errorf("got %+v", got)
	}
}

func TestPanickingHandlerIsAnsweredWithAnError(t *testing.T) {
	var fate error
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { fate = err })
		panic("words of a message")
	})
	var out, log bytes.Buffer
	limits := patient
	limits.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := Serve(t.Context(), strings.NewReader(call(1)+rpcMessage(2, "ping", "")), &out, srv, limits); err != nil {
		t.Fatal(err)
	}
	got := replies(t, out.String())
	codes := 0
	for _, r := range got {
		if r.Error != nil {
			codes = r.Error.Code
		}
	}
	if strings.Contains(out.String(), "words") || strings.Contains(log.String(), "words") || !strings.Contains(log.String(), "stdio_test.go") {
		t.Errorf("answered %s\nlogged %s", &out, &log)
	}
	if len(got) != 2 || codes != mcp.INTERNAL_ERROR {
		t.Errorf("got %+v", got)
	}
	if fate == nil {
		t.Error("OnWritten was told that all is well")
	}
}

// mcp-go's own recovery tells the words, too.
func TestAToolThatPanicsSaysNothingOfIt(t *testing.T) {
	var log bytes.Buffer
	srv := tools.New(tools.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	srv.AddTool(mcp.NewTool("t"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("words of a message") })
	got := exchange(t, srv, call(1))
	if len(got) != 1 || got[0].Error == nil || !strings.Contains(got[0].Error.Message, "its log says where") || strings.Contains(log.String(), "words") {
		t.Errorf("%+v, logged %s", got[0].Error, &log)
	}
	if !strings.Contains(log.String(), "stdio_test.go") {
		t.Errorf("no stack in %s", &log)
	}
}

func TestAnIDComesBackAsItWas(t *testing.T) {
	for _, id := range ids {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`, `{"jsonrpc":"2.0","id":` + id + `,"method":"nope"}`,
			`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"t"}}`,
		} {
			var out bytes.Buffer
			if err := Serve(t.Context(), strings.NewReader(line), &out, scripted(answering("hi")), patient); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), `"id":`+id+",") && !strings.Contains(out.String(), `"id":`+id+"}") {
				t.Errorf("%s: %s", line, &out)
			}
		}
	}
}

// The first call with an id ends; the second one, with the same id, can still be cancelled.
func TestAnIDThatIsUsedAgainNamesTheLaterRequest(t *testing.T) {
	started := make(chan int, 2)
	ends := make(chan bool)
	calls := 0
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		calls++
		n := calls
		started <- n
		if n == 1 {
			<-ends
			return mcp.NewToolResultText("first"), nil
		}
		<-ctx.Done()
		return mcp.NewToolResultText("too late"), nil
	})
	r, w := io.Pipe()
	var out bytes.Buffer
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), r, &out, srv, patient) }()
	io.WriteString(w, call(1)+call(1)+rpcMessage(2, "ping", "")+" ") // all three were read when the space is
	<-started
	close(ends)
	<-started
	io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	w.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "first") || strings.Contains(got, "too late") {
		t.Errorf("%s", got)
	}
}

func TestAfterWriteComesAfterTheAnswer(t *testing.T) {
	var out bytes.Buffer
	seen := "never called"
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { seen = fmt.Sprint(out.String(), err) })
		return mcp.NewToolResultText("hi"), nil
	})
	if err := Serve(t.Context(), strings.NewReader(call(1)), &out, srv, patient); err != nil {
		t.Fatal(err)
	}
	if want := out.String() + "<nil>"; seen != want {
		t.Errorf("when told, saw %q, want %q", seen, want)
	}
}

func TestAfterWriteIsToldOfErrorAnswers(t *testing.T) {
	for name, f := range map[string]server.ToolHandlerFunc{
		"tool error": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultError("no"), nil
		},
		"handler error": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("no")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var fate error
			exchange(t, scripted(func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				tools.OnWritten(ctx, func(err error) { fate = err })
				return f(ctx, r)
			}), call(1))
			if fate == nil {
				t.Error("OnWritten was told that all is well")
			}
		})
	}
}

func TestCancelledRequestIsNotAnswered(t *testing.T) {
	var fate error
	started := make(chan struct{})
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { fate = err })
		close(started)
		<-ctx.Done()
		return mcp.NewToolResultText("too late"), nil
	})
	r, w := io.Pipe()
	var out bytes.Buffer
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), r, &out, srv, patient) }()
	io.WriteString(w, call(1))
	<-started
	io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+rpcMessage(2, "ping", ""))
	w.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if got := replies(t, out.String()); len(got) != 1 || *got[0].ID != 2 {
		t.Errorf("want only the pong, got %s", out.String())
	}
	if !errors.Is(fate, rpc.ErrCancelled) {
		t.Errorf("OnWritten was told %v, want %v", fate, rpc.ErrCancelled)
	}
}

// A client that stops reading: its answers fail within one limit and a moment for each, and the
// server is alive again when the client is.
func TestClientThatStopsReadingCostsOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fates := make(chan error, 10)
		srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tools.OnWritten(ctx, func(err error) { fates <- err })
			return mcp.NewToolResultText("hi"), nil
		})
		in, w := io.Pipe()
		outR, out := io.Pipe() // unbuffered, like a full pipe
		served := make(chan error, 1)
		go func() { served <- Serve(t.Context(), in, out, srv, StdioLimits{}) }()
		start := time.Now()
		for id := range 4 {
			io.WriteString(w, call(id))
		}
		for range 4 {
			if err := <-fates; !errors.Is(err, rpc.ErrStalled) {
				t.Errorf("fate is %v, want %v", err, rpc.ErrStalled)
			}
		}
		if took := time.Since(start); took != 10*time.Second+3*100*time.Millisecond {
			t.Errorf("four answers failed after %v, want 10s for the first and a moment for each of the others", took)
		}
		lines := bufio.NewScanner(outR)
		lines.Scan() // the line begun is completed, late
		if got := replies(t, lines.Text()+"\n"); *got[0].ID != 0 {
			t.Errorf("late line is %s", lines.Text())
		}
		io.WriteString(w, call(9))
		lines.Scan()
		if got := replies(t, lines.Text()+"\n"); *got[0].ID != 9 {
			t.Errorf("after the stall: %s", lines.Text())
		}
		if err := <-fates; err != nil {
			t.Errorf("after the stall: %v", err)
		}
		w.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

func TestEndOfInputEndsAServerWithFullOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fates := make(chan error, 200)
		srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tools.OnWritten(ctx, func(err error) { fates <- err })
			return mcp.NewToolResultText("hi"), nil
		})
		outR, out := io.Pipe()
		start := time.Now()
		err := Serve(t.Context(), strings.NewReader(strings.Repeat(call(1), 50)), out, srv, StdioLimits{})
		if err == nil {
			t.Error("want an error that says answers were given up")
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("took %v", took)
		}
		if err := <-fates; !errors.Is(err, rpc.ErrStopping) {
			t.Errorf("fate is %v, want %v", err, rpc.ErrStopping)
		}
		outR.Close() // frees the abandoned write
	})
}

func TestCancelledContextEndsPromptly(t *testing.T) {
	for name, full := range map[string]bool{"idle": false, "output full": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, w := io.Pipe()
				outR, out := io.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				served := make(chan error, 1)
				go func() { served <- Serve(ctx, in, out, scripted(answering("hi")), StdioLimits{}) }()
				if full {
					// More than the queues hold: reading pauses.
					go func() {
						for id := range 300 {
							io.WriteString(w, call(id))
						}
					}()
				}
				synctest.Wait()
				start := time.Now()
				cancel()
				if err := <-served; !errors.Is(err, context.Canceled) {
					t.Errorf("serve: %v, want %v", err, context.Canceled)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v", took)
				}
				in.Close()
				outR.Close()
			})
		})
	}
}

func TestHandlerThatNeverReturnsDoesNotKeepTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		srv := scripted(func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-free
			return mcp.NewToolResultText("hi"), nil
		})
		var out bytes.Buffer
		err := Serve(t.Context(), strings.NewReader(call(1)+rpcMessage(2, "ping", "")), &out, srv, StdioLimits{})
		if err == nil {
			t.Error("want an error that says answers were given up")
		}
		if got := replies(t, out.String()); len(got) != 1 || *got[0].ID != 2 {
			t.Errorf("want the pong beside the hanging call, got %s", out.String())
		}
		close(free)
	})
}

// The same with real pipes, as the process has them.
func TestRealPipeThatIsFull(t *testing.T) {
	outR, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 200<<10) // more than a pipe holds
	fate := make(chan error, 1)
	srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		tools.OnWritten(ctx, func(err error) { fate <- err })
		return mcp.NewToolResultText(big), nil
	})
	limits := StdioLimits{Drain: 50 * time.Millisecond}
	if err := Serve(t.Context(), strings.NewReader(call(1)), out, srv, limits); err == nil {
		t.Error("want an error that says answers were given up")
	}
	if err := <-fate; err == nil {
		t.Error("OnWritten was told that all is well")
	}
	outR.Close()
	out.Close()
}

func TestBrokenOutputEndsServing(t *testing.T) {
	in, w := io.Pipe()
	outR, out := io.Pipe()
	outR.Close()
	served := make(chan error, 1)
	go func() { served <- Serve(t.Context(), in, out, scripted(nil), patient) }()
	io.WriteString(w, rpcMessage(1, "ping", ""))
	if err := <-served; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("serve: %v, want %v", err, io.ErrClosedPipe)
	}
	in.Close()
}

func TestASignalBehindTheEndOfInputEndsServingAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // who sees the signal first is left to chance
			ctx, cancel := context.WithCancel(t.Context())
			srv := scripted(func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			served, began := make(chan error, 1), time.Now()
			go func() { served <- Serve(ctx, strings.NewReader(call(1)), io.Discard, srv, patient) }()
			synctest.Wait() // the input is over, and the call is not
			cancel()
			if err := <-served; err != nil && !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
				t.Fatalf("served %v after %v", err, time.Since(began))
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		call(1), initialize(2, "2025-06-18"), "[]", "{}", "null", `{"id":null}`, `{"jsonrpc":"2.0","method":"x"}`,
		`{"jsonrpc":"2.0","id":"a","method":"server/discover"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
	} {
		f.Add([]byte(strings.TrimSpace(s)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if b = bytes.TrimSpace(b); len(b) == 0 {
			return
		}
		m, refusal := rpc.Parse(b)
		if m.Method != "" && refusal != nil {
			t.Errorf("%q is both a message and refused", b)
		}
		m.Cancelled()
		if refusal != nil {
			if _, err := json.Marshal(refusal); err != nil {
				t.Errorf("refusal of %q: %v", b, err)
			}
		}
	})
}
