// What every client does. Prints one line of JSON about what it saw.
export async function talk(client, changed, generation) {
  const seen = {};
  const { tools } = await client.listTools();
  seen.tools = tools.map((tool) => tool.name).filter((name) => name.startsWith("odd__")).length;
  seen.echo = (await client.callTool({ name: "odd__echo", arguments: { z: "é", a: 1.5 } })).content[0].text;
  const progress = [];
  const done = await client.callTool({ name: "odd__progress", arguments: { steps: 4 } }, ...progressOptions(generation, progress));
  seen.progress = progress;
  seen.done = done.content[0].text;
  seen.elicited = (await client.callTool({ name: "odd__elicit", arguments: {} })).content[0].text;
  try {
    await client.callTool({ name: "odd__refuse", arguments: {} });
  } catch (error) {
    seen.refused = { code: error.code, data: error.data };
  }
  const { prompts } = await client.listPrompts();
  seen.prompt = prompts.some((prompt) => prompt.name === "odd__greet");
  const { resources } = await client.listResources();
  seen.log = resources.some((resource) => resource.uri === "jackfield://logs/odd");
  const parallel = Array.from({ length: 50 }, (_, n) => client.callTool({ name: "odd__echo", arguments: { a: n } }));
  const answers = await Promise.all(parallel);
  seen.parallel = answers.every((answer, n) => answer.content[0].text === `{"a": ${n}}`);
  if (changed) {
    await client.callTool({ name: "odd__change", arguments: {} });
    await changed;
    // A server that starts anew may have changed its list before.
    for (let tries = 0; tries < 100 && !seen.changed; tries++) {
      seen.changed = (await client.listTools()).tools.some((tool) => tool.name === "odd__new");
      if (!seen.changed) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  console.log(JSON.stringify(seen));
  await client.close();
  process.exit(0);
}

// The two generations take the options in different places.
function progressOptions(generation, progress) {
  const options = { onprogress: (step) => progress.push(step.progress) };
  return generation === 1 ? [undefined, options] : [options];
}
