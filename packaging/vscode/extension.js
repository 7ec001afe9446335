// Starts `glyphscope lsp` for grammars and lists of tools, and restarts it when the setting of its path changes.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const TOOLS = "**/{tools,registry,suite,*.tools,*.registry,*.suite}.{json,yaml,yml}";
let client;

async function start() {
  await client?.stop();
  const command = vscode.workspace.getConfiguration("glyphscope").get("path");
  const server = { command, args: ["lsp", "--stdio"] };
  const documentSelector = [{ language: "gbnf" }, { language: "lark" }, { pattern: TOOLS }];
  client = new LanguageClient("glyphscope", "Glyphscope", server, { documentSelector });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const words = `${command} lsp does not start: ${error.message}. Install it: pip install 'glyphscope[lsp]', or set glyphscope.path.`;
    vscode.window.showErrorMessage(words);
  }
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("glyphscope.restart", start),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("glyphscope.path") && start()),
  );
  await start();
};

exports.deactivate = () => client?.stop();
