// Clients of the TypeScript SDK that speak MCP 2026-07-28: node listen.mjs PROJECT HOME C2C [URL TOKEN]
// With a URL over HTTP, else over standard input and output. Pinned is a client that speaks nothing else, 'auto' one that
// falls back, 'legacy' one that initializes.
import { execFileSync } from 'node:child_process';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [project, home, c2c, url, token] = process.argv.slice(2);
const env = { HOME: home, PATH: '/usr/bin:/bin', USER: 'dana' };

async function dial(name, mode) {
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}`, 'X-C2C-Project': project } } })
    : new StdioClientTransport({ command: c2c, args: ['mcp'], env, cwd: project });
  const client = new Client({ name, version: '0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  const call = async (tool, args) => {
    const result = await client.callTool({ name: tool, arguments: args ?? {} });
    const text = result.content[0].text;
    if (result.isError) throw new Error(`${tool}: ${text}`);
    return text;
  };
  return { client, transport, call };
}

const said = {};
const pin = { pin: '2026-07-28' };

// One that can fall back, and that we know: it has a session, as before.
const both = await dial('claude-code', 'auto');
said.both = both.client.getNegotiatedProtocolVersion();
said.session = url ? !!both.transport.sessionId : true;
const plain = await dial('plain', 'legacy');
said.plain = plain.client.getNegotiatedProtocolVersion();
for (const one of [both, plain]) {
  if (url) await one.transport.terminateSession();
  await one.client.close();
}

// One that could fall back, and that we do not know: it takes the newest revision, lists and calls.
const auto = await dial('unknown', 'auto');
const { tools } = await auto.client.listTools();
said.auto = `${auto.client.getNegotiatedProtocolVersion()} ${tools.some((t) => t.name === 'send')} ${await auto.call('claims')}`;
await auto.client.close();

const { client, call } = await dial('new', pin);
said.version = client.getNegotiatedProtocolVersion();
said.offered = client.getDiscoverResult().supportedVersions.includes('2025-11-25');
await call('register', { alias: 'birch' });
let ring;
const rung = new Promise((done) => { ring = done; });
client.setNotificationHandler('notifications/resources/updated', (note) => ring(note));
const subscription = await client.listen({ resourceSubscriptions: ['c2c://inbox'] });
said.honored = subscription.honoredFilter.resourceSubscriptions;
execFileSync(c2c, ['send', '--from', 'amber', 'birch', 'hello'], { env, cwd: project });
const bell = await rung;
said.bell = `${bell.params.uri} ${typeof bell.params._meta.trace_id}`;
said.inbox = (await client.readResource({ uri: 'c2c://inbox' })).contents[0].text;
said.polled = JSON.parse(await call('poll_inbox'))[0].content;
said.surface = JSON.parse(await call('runtime_diagnostics')).surface_support;
await subscription.close();
await client.close();
console.log(JSON.stringify(said));
