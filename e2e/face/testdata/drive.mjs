// Two clients of the TypeScript SDK that talk with each other: node drive.mjs URL TOKEN PROJECT VERSION
const [url, token, project, version] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = version === '2' ? await import('@modelcontextprotocol/client') : {
  ...await import('@modelcontextprotocol/sdk/client/index.js'),
  ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
};

async function dial(alias) {
  const headers = { Authorization: `Bearer ${token}`, 'X-C2C-Project': project };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  const client = new Client({ name: alias, version: '0' });
  const rung = new Promise((done) => { client.fallbackNotificationHandler = async (note) => done(note); });
  await client.connect(transport);
  const call = async (name, args, options) => {
    const result = await client.callTool({ name, arguments: args ?? {} }, ...version === '2' ? [options] : [undefined, options]);
    const text = result.content[0].text;
    if (result.isError) throw new Error(`${name}: ${text}`);
    return text;
  };
  await call('register', { alias });
  return { client, transport, call, rung };
}

const amber = await dial('amber');
const birch = await dial('birch');
const said = {};
said.tools = (await amber.client.listTools()).tools.length;
said.prompts = (await amber.client.listPrompts()).prompts.length;
await amber.call('send', { to_alias: 'birch', content: 'hello' });
const bell = await birch.rung;
said.bell = `${bell.method} ${bell.params.uri} ${typeof bell.params._meta.trace_id}`;
said.inbox = (await birch.client.readResource({ uri: 'c2c://inbox' })).contents[0].text;
said.polled = JSON.parse(await birch.call('poll_inbox'))[0].content;

let progress = 0;
const answer = amber.call('ask', { to_alias: 'birch', content: 'well?', wait_seconds: 60 }, {
  onprogress: () => { progress++; }, resetTimeoutOnProgress: true,
});
let question = [];
while (question.length === 0) question = JSON.parse(await birch.call('poll_inbox'));
while (progress === 0) await new Promise((done) => setTimeout(done, 50));
await birch.call('reply', { message_id: question[0].message_id, content: 'forty-two' });
said.answer = JSON.parse(await answer).content;
said.progress = progress > 0;

for (const { client, transport } of [amber, birch]) {
  await transport.terminateSession();
  await client.close();
}
console.log(JSON.stringify(said));
