package mcp

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"c2c/mcp/rpc"
	"c2c/mcp/tools"
)

// readBatch turns a batch into one request for the queue. It does not answer the batch at once: an earlier initialize may
// still wait for its answer, and only that answer shows whether batches are allowed. Cancellations in the batch take
// effect at once.
func (t *stdio) readBatch(ctx context.Context, b []byte) *request {
	all, refusal := rpc.ParseBatch(b)
	if version := t.version(); refusal == nil && version != "" && version != rpc.BatchVersion {
		refusal = rpc.RefuseBatch(version)
	}
	whole := t.begin(ctx, rpc.Message{}, refusal)
	if refusal != nil {
		return whole
	}
	for _, it := range all {
		switch id := it.Cancelled(); {
		case id != "":
			t.cancelRequest(id)
		case it.Method != "" || it.Refusal != nil:
			if it.Method == string(mcp.MethodServerDiscover) && it.ID != nil {
				it.Refusal = noDiscover(it.ID)
			}
			whole.batch = append(whole.batch, t.begin(ctx, it.Message, it.Refusal))
		}
	}
	whole.isBatch = true
	return whole
}

// answerBatch handles the requests of a batch one after another, and writes their answers in one line. Unlike a single
// tool call, a tool call in a batch lets no other request run before it ends.
func (t *stdio) answerBatch(whole *request) {
	defer whole.cancel(nil)
	if version := t.version(); version != rpc.BatchVersion {
		for _, r := range whole.batch {
			t.end(r)
		}
		t.send(rpc.RefuseBatch(version))
		return
	}
	var answers []mcp.JSONRPCMessage
	var reports []func(error)
	for _, r := range whole.batch {
		ctx, written := tools.WithWritten(r.ctx)
		resp, err := tools.Handle(ctx, t.log, t.srv, r.Message, r.refusal)
		if resp != nil && (r.ID != nil || r.refusal != nil) {
			answers = append(answers, resp)
		}
		reports = append(reports, func(failed error) { written.Report(errors.Join(err, failed)) })
	}
	var err error
	if len(answers) > 0 {
		err = t.send(answers)
	}
	for i, r := range whole.batch {
		reports[i](err)
		t.end(r)
	}
}
