"""Architectures of transformers that no other table names, from its own lists of models, made small by the usual names of sizes."""
import re

import torch

from common import Table
from torch_models import Outputs, ids, randn, tokens

# Patterns of names in configurations, and what they become. The first that matches holds.
SIZES = [
    (r"^(vocab_size|.*_vocab_size|vocab_size_.*)$", 64), (r"pad_token_id$|pad_id$", 0), (r"bos_token_id$|decoder_start_token_id$", 1), (r"(eos|sep|mask|image|.*)_token_id$", 2),
    (r"^(first_k_dense_replace|num_dense_layers|moe_layer_start_index)$", 1), (r"(^|_)(layers?|num_blocks|num_layers|n_layers?|num_hidden_layers)$", 2),
    (r"(num_key_value_heads|num_kv_heads|n_kv_heads|multi_query_group_num|num_query_groups)$", 1),
    (r"^(mamba_)?(n|num)_heads$|mamba_num_heads$|mamba_n_heads$", 2), (r"(attention_heads|_heads?|num_heads|n_head|n_heads)$", 2),
    (r"(qk_rope_head_dim|qk_nope_head_dim|rotary_dim)$", 4), (r"(head_dim|d_kv|v_head_dim|head_size|kv_channels|d_head)$", 8), (r"(lora_rank|_rank)$", 8),
    (r"^(topk_group|n_group|num_expert_group|n_groups|mamba_n_groups|n_shared_experts|num_shared_experts|conv_groups|num_zero_experts?|zero_expert_num)$", 1),
    (r"(experts_per_tok|moe_topk|moe_k|top_k|experts_top_k|num_selected_experts)$", 2), (r"(experts|n_routed_experts|moe_num_experts)$", 4),
    (r"(moe_intermediate_size|expert_intermediate_size|expert_ffn_hidden_size|shared_intermediate_size)$", 16),
    (r"(intermediate_size.*|ffn_dim|d_ff|n_inner|ffn_hidden_size|feed_forward_size|mlp_dim|dff|d_inner)$", 32),
    (r"(max_position_embeddings|n_positions|max_seq_len|max_source_positions|max_target_positions|context_length)$", 64),
    (r"(d_state|state_size|ssm_state_size)$", 4), (r"(chunk_size|sliding_window|attention_window_size|window_size|local_attention|attention_chunk_size)$", 4),
    (r"(hidden_size|d_model|n_embd|emb_dim|lru_width|embedding_size|projection_dim|word_embed_proj_dim|hidden_dim|^dim|embed_dim)$", 16),
    (r"^image_size$", 32), (r"^patch_size$", 8),
]


def small(config_class, text):
    """A configuration with few and small layers, one of each type."""
    default = config_class().get_text_config(decoder=True) if text else config_class()
    config_class = type(default)
    given = {}
    for name, value in default.to_dict().items():
        if isinstance(value, bool) or not isinstance(value, int):
            continue
        for pattern, size in SIZES:
            if re.search(pattern, name):
                given[name] = size
                break
    types = getattr(default, "layer_types", None)
    if isinstance(types, (list, tuple)):
        kinds = list(dict.fromkeys(types))
        given["layer_types"] = kinds if len(kinds) > 1 else kinds * 2
        given[next((n for n in ("num_hidden_layers", "num_layers", "n_layers") if n in given), "num_hidden_layers")] = len(given["layer_types"])
        if isinstance(getattr(default, "mlp_layer_types", None), (list, tuple)):
            given["mlp_layer_types"] = list(default.mlp_layer_types[-1:]) * len(given["layer_types"])
    if "kv_lora_rank" in given:
        given["num_key_value_heads"] = 2  # latent attention has a key for each head
    return config_class(**given)


def made(name, config_name, names, inputs, calls, attention="eager"):
    def make():
        import transformers

        config = small(getattr(transformers, config_name), "input_ids" in inputs)
        config._attn_implementation = attention
        config._experts_implementation = "eager"
        config.use_cache = False
        with torch.device("meta"):
            count = sum(p.numel() for p in getattr(transformers, name)(config).parameters())
        assert count < 4000000, "%d parameters" % count
        model = getattr(transformers, name)(config).eval()
        model.config.return_dict = True
        return (Outputs(model, names, inputs),) + tuple(f() for f in calls)

    return make


def programs(seen):
    """A table of what transformers lists and `seen` lacks."""
    from transformers.models.auto import modeling_auto as auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES as configs

    table = Table()
    text = dict(calls=(lambda: tokens(2, 6), lambda: tokens(3, 9)), axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "s"}}, inputs=("input_ids", "attention_mask"))
    pairs = dict(calls=(lambda: (ids(2, 6), ids(2, 4)), lambda: (ids(2, 8), ids(2, 5))), axes={0: {0: "b", 1: "s"}, 1: {0: "b", 1: "t"}}, inputs=("input_ids", "decoder_input_ids"))
    pixels = dict(calls=(lambda: (randn(2, 3, 32, 32),), lambda: (randn(3, 3, 32, 32),)), axes={0: {0: "b"}}, inputs=("pixel_values",))
    sound = dict(calls=(lambda: (randn(2, 1600),), lambda: (randn(3, 2000),)), axes={0: {0: "b", 1: "t"}}, inputs=("input_values",))
    for names, kind in ((auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, text), (auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, text),
                        (auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, pairs), (auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, pixels),
                        (auto.MODEL_FOR_CTC_MAPPING_NAMES, sound), (auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES, pixels),
                        (auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES, pixels)):
        for key, name in names.items():
            name = name[0] if isinstance(name, (list, tuple)) else name
            if key not in configs or any("hf_" + name == q for q in seen) or any(q.name == "hf_" + name for q in table.programs):
                continue
            member = "predicted_depth" if "Depth" in name else "logits"
            table("hf_" + name, made(name, configs[key], (member,), kind["inputs"], kind["calls"]), axes=kind["axes"])
    return table.programs
