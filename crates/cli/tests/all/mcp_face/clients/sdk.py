"""The official Python SDK against jackfield: python3 sdk.py MODE stdio|http TARGET [ARGS...]"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client


async def main():
    mode, way, target, *args = sys.argv[1:]
    if way == "stdio":
        server = StdioServerParameters(command=target, args=args, env=dict(os.environ))
    else:
        headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
        server = streamable_http_client(target, http_client=httpx2.AsyncClient(headers=headers, timeout=30))

    async def elicit(context, params):
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    seen = {}
    async with Client(server, mode=mode, elicitation_callback=elicit) as client:
        tools = (await client.list_tools()).tools
        seen["tools"] = len([tool for tool in tools if tool.name.startswith("odd__")])
        seen["echo"] = (await client.call_tool("odd__echo", {"z": "é", "a": 1.5})).content[0].text
        steps = []

        async def progress(done, total, message):
            steps.append(done)

        answer = await client.call_tool("odd__progress", {"steps": 4}, progress_callback=progress)
        seen["done"], seen["progress"] = answer.content[0].text, steps
        seen["elicited"] = (await client.call_tool("odd__elicit", {})).content[0].text
        try:
            await client.call_tool("odd__refuse", {})
        except Exception as error:
            inner = getattr(error, "error", error)
            seen["refused"] = {"code": getattr(inner, "code", str(error)), "data": getattr(inner, "data", None)}
        seen["prompt"] = any(prompt.name == "odd__greet" for prompt in (await client.list_prompts()).prompts)
        resources = (await client.list_resources()).resources
        seen["log"] = any(str(resource.uri) == "jackfield://logs/odd" for resource in resources)
        answers = await asyncio.gather(*(client.call_tool("odd__echo", {"a": n}) for n in range(50)))
        seen["parallel"] = all(answer.content[0].text == json.dumps({"a": n}) for n, answer in enumerate(answers))
    print(json.dumps(seen))


asyncio.run(main())
