// What services send, signed by their own libraries: node sign.mjs '{"github":{"url","secret"},"standard":{"url","secret"}}'
// It tells the status of each, and what an example of GitHub's says of itself.
import { createRequire } from 'node:module';
import { sign } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';

const to = JSON.parse(process.argv[2]);
const examples = createRequire(import.meta.url)('@octokit/webhooks-examples/api.github.com/index.json');
const said = { sent: [], status: {} };

async function post(name, url, headers, body) {
  const answer = await fetch(url, { method: 'POST', headers, body });
  said.status[name] = answer.status;
  await answer.text();
}

const github = async (event, id, body, type = 'application/json') => ({
  'Content-Type': type, 'User-Agent': 'GitHub-Hookshot/044aadd', 'X-GitHub-Event': event, 'X-GitHub-Delivery': id,
  'X-Hub-Signature-256': await sign(to.github.secret, body),
});
for (const event of ['ping', 'push', 'pull_request', 'workflow_run']) {
  const body = JSON.stringify(examples.find((e) => e.name === event).examples[0]);
  said.sent.push(JSON.parse(body).repository.full_name);
  await post(event, to.github.url, await github(event, `id-${event}`, body), body);
}
const issue = JSON.stringify(examples.find((e) => e.name === 'issues').examples[0]);
const form = new URLSearchParams({ payload: issue }).toString();
await post('form', to.github.url, await github('issues', 'id-form', form, 'application/x-www-form-urlencoded'), form);
const headers = await github('issues', 'id-again', issue);
await post('first', to.github.url, headers, issue);
await post('again', to.github.url, headers, issue);
await post('changed', to.github.url, headers, issue.replace('"opened"', '"closed"') + ' ');

const standard = (id, at, body) => ({
  'Content-Type': 'application/json', 'webhook-id': id, 'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': new Webhook(to.standard.secret).sign(id, new Date(at), body),
});
const paid = '{"type":"invoice.paid","data":{"amount":"12 €"}}';
const now = Date.now();
await post('standard', to.standard.url, standard('msg_1', now, paid), paid);
await post('standard again', to.standard.url, standard('msg_1', now, paid), paid);
await post('standard changed', to.standard.url, standard('msg_2', now, paid), paid.replace('12', '13'));
await post('standard old', to.standard.url, standard('msg_3', now - 3600_000, paid), paid);
console.log(JSON.stringify(said));
