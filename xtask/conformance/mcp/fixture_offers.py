"""What the fixture lists."""


def tool(name, description, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


WORDS = {"type": "string", "description": "Any words."}

TOOLS = [
    tool("test_simple_text", "Answers with text."),
    tool("test_image_content", "Answers with a picture."),
    tool("test_audio_content", "Answers with a sound."),
    tool("test_embedded_resource", "Answers with a resource."),
    tool("test_multiple_content_types", "Answers with several things."),
    tool("test_tool_with_logging", "Logs while it runs."),
    tool("test_logging_tool", "Logs for those who want to know."),
    tool("test_tool_with_progress", "Says how far it is."),
    tool("test_error_handling", "Fails."),
    tool("test_sampling", "Asks the client's model.", prompt=WORDS),
    tool("test_elicitation", "Asks the person.", message=WORDS),
    tool("test_elicitation_sep1034_defaults", "Asks the person, with defaults."),
    tool("test_elicitation_sep1330_enums", "Asks the person to choose."),
    tool("test_streaming_elicitation", "Says how far it is, then asks."),
    tool("test_reconnection", "Takes a moment."),
    tool("test_missing_capability", "Needs a client that can sample."),
    tool("test_trigger_tool_change", "Changes the list of tools."),
    tool("test_trigger_prompt_change", "Changes the list of prompts."),
    tool("test_input_required_result_elicitation", "Asks for a name."),
    tool("test_input_required_result_sampling", "Asks for a capital."),
    tool("test_input_required_result_list_roots", "Asks for the roots."),
    tool("test_input_required_result_request_state", "Asks, and checks what comes back."),
    tool("test_input_required_result_multiple_inputs", "Asks three things at once."),
    tool("test_input_required_result_multi_round", "Asks one thing after another."),
    tool("test_input_required_result_tampered_state", "Asks, and refuses what was changed."),
    tool("test_input_required_result_capabilities", "Asks what the client can answer."),
]

# What newer schemas can say has to pass unchanged.
ADDRESS = {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
TOOLS.append(
    {
        "name": "json_schema_2020_12_tool",
        "description": "Tool with JSON Schema 2020-12 features",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": ADDRESS},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": False,
        },
    }
)
TOOLS.append(tool("test_custom_headers", "Wants its argument in a header, too.", region={"type": "string", "x-mcp-header": "Region"}))

PROMPTS = [
    {"name": "test_simple_prompt", "description": "A prompt."},
    {
        "name": "test_prompt_with_arguments",
        "description": "A prompt with arguments.",
        "arguments": [
            {"name": "arg1", "description": "First test argument", "required": True},
            {"name": "arg2", "description": "Second test argument", "required": True},
        ],
    },
    {
        "name": "test_prompt_with_embedded_resource",
        "description": "A prompt with a resource.",
        "arguments": [{"name": "resourceUri", "description": "The resource", "required": True}],
    },
    {"name": "test_prompt_with_image", "description": "A prompt with a picture."},
    {"name": "test_input_required_result_prompt", "description": "A prompt that asks first."},
]

RESOURCES = [
    {"uri": "test://static-text", "name": "static text", "description": "Some text.", "mimeType": "text/plain"},
    {"uri": "test://static-binary", "name": "static binary", "description": "A picture.", "mimeType": "image/png"},
    {"uri": "test://watched-resource", "name": "watched", "description": "Something to watch.", "mimeType": "text/plain"},
]

TEMPLATES = [
    {
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data by number.",
        "mimeType": "application/json",
    }
]
