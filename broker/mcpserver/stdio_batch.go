package mcpserver

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
)

// readBatch begins the requests of a batch. They are handled together, in their turn: an initialize before them may not have
// been answered yet, and says whether there may be a batch. What a batch cancels is cancelled at once.
func (t *stdio) readBatch(ctx context.Context, b []byte) *request {
	all, refusal := parseBatch(b)
	if version := t.version(); refusal == nil && version != "" && version != batchVersion {
		refusal = refuseBatch(version)
	}
	whole := t.begin(ctx, message{}, refusal)
	if refusal != nil {
		return whole
	}
	for _, it := range all {
		switch id := it.cancelled(); {
		case id != "":
			t.cancelRequest(id)
		case it.method != "" || it.refusal != nil:
			if it.method == string(mcp.MethodServerDiscover) && it.id != nil {
				it.refusal = noDiscover(it.id)
			}
			whole.batch = append(whole.batch, t.begin(ctx, it.message, it.refusal))
		}
	}
	whole.isBatch = true
	return whole
}

// answerBatch handles the requests of a batch one after another, and writes their answers in one line. A call in it does not
// step aside: the next one of the batch waits for it.
func (t *stdio) answerBatch(whole *request) {
	defer whole.cancel(nil)
	if version := t.version(); version != batchVersion {
		for _, r := range whole.batch {
			t.end(r)
		}
		t.send(refuseBatch(version))
		return
	}
	var answers []mcp.JSONRPCMessage
	var settle []func(error)
	for _, r := range whole.batch {
		ctx, settlement := withSettlement(r.ctx)
		resp, err := handle(ctx, t.limits.Log, t.srv, r.message, r.refusal)
		if resp != nil && (r.id != nil || r.refusal != nil) {
			answers = append(answers, resp)
		}
		settle = append(settle, func(written error) { settlement.end(errors.Join(err, written)) })
	}
	var err error
	if len(answers) > 0 {
		err = t.send(answers)
	}
	for i, r := range whole.batch {
		settle[i](err)
		t.end(r)
	}
}
