"""More architectures of transformers, small and with random weights: a row each. The rows of torch_models.py come before."""
import torch

from torch_models import HIDDEN, LLAMA, PIXELS, SMALL, VIT, W2V, ids, images, randn, table as before, tokens, tr, vision
from common import Table

first = len(before.programs)
ENCODER_DECODER = dict(vocab_size=64, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32)
T5 = dict(vocab_size=64, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=16)


def translator(model, config, sizes, names=("logits",), **options):
    tr(model, config, sizes, names, ("input_ids", "decoder_input_ids"), (lambda: (ids(2, 6), ids(2, 4)), lambda: (ids(2, 8), ids(2, 5))), {0: {0: "b", 1: "s"}, 1: {0: "b", 1: "t"}}, **options)


# text encoders
for m, c, more in [("CamembertModel", "CamembertConfig", {}), ("ErnieModel", "ErnieConfig", {}), ("MegatronBertModel", "MegatronBertConfig", {}), ("RoFormerModel", "RoFormerConfig", dict(embedding_size=16)), ("EsmModel", "EsmConfig", dict(pad_token_id=0, mask_token_id=1)),
                   ("IBertModel", "IBertConfig", {}), ("Data2VecTextModel", "Data2VecTextConfig", {}), ("ConvBertModel", "ConvBertConfig", dict(embedding_size=16, conv_kernel_size=3)), ("LiltModel", "LiltConfig", dict(hidden_size=24, channel_shrink_ratio=2)),
                   ("MobileBertModel", "MobileBertConfig", dict(embedding_size=8, intra_bottleneck_size=16, true_hidden_size=16)), ("RobertaPreLayerNormModel", "RobertaPreLayerNormConfig", {}), ("XmodModel", "XmodConfig", dict(languages=["en"], default_language="en")),
                   ("BigBirdModel", "BigBirdConfig", dict(attention_type="original_full")), ("RemBertModel", "RemBertConfig", dict(input_embedding_size=8, output_embedding_size=8)), ("BertGenerationEncoder", "BertGenerationConfig", {}), ("NomicBertModel", "NomicBertConfig", {}),
                   ("SplinterModel", "SplinterConfig", {}), ("LongformerModel", "LongformerConfig", dict(attention_window=4, pad_token_id=0)), ("XLMRobertaXLModel", "XLMRobertaXLConfig", {}), ("ModernBertForMaskedLM", "ModernBertConfig", dict(local_attention=4, pad_token_id=0))]:
    tr(m, c, dict(SMALL, **more), HIDDEN if not m.endswith("LM") else ("logits",))
tr("FunnelModel", "FunnelConfig", dict(vocab_size=64, d_model=16, block_sizes=[1, 1], n_head=2, d_head=8, d_inner=32, num_decoder_layers=1), HIDDEN)
tr("XLNetModel", "XLNetConfig", dict(vocab_size=64, d_model=16, n_layer=2, n_head=2, d_inner=32), HIDDEN)
tr("FlaubertModel", "FlaubertConfig", dict(vocab_size=64, emb_dim=16, n_layers=2, n_heads=2, max_position_embeddings=32), HIDDEN)
tr("CanineModel", "CanineConfig", dict(SMALL, num_hash_buckets=32, local_transformer_stride=4, downsampling_rate=2), HIDDEN, calls=(lambda: tokens(2, 16),), axes=None)
# decoders
for m, c, more in [("Olmo2ForCausalLM", "Olmo2Config", {}), ("Gemma3ForCausalLM", "Gemma3TextConfig", dict(head_dim=8, sliding_window=4)), ("Cohere2ForCausalLM", "Cohere2Config", dict(sliding_window=4)), ("GlmForCausalLM", "GlmConfig", dict(head_dim=8, pad_token_id=0)), ("Glm4ForCausalLM", "Glm4Config", dict(head_dim=8, pad_token_id=0)),
                   ("NemotronForCausalLM", "NemotronConfig", {}), ("Starcoder2ForCausalLM", "Starcoder2Config", {}), ("PersimmonForCausalLM", "PersimmonConfig", {}), ("HeliumForCausalLM", "HeliumConfig", dict(head_dim=8, pad_token_id=0)), ("Ernie4_5ForCausalLM", "Ernie4_5Config", dict(head_dim=8)),
                   ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", dict(head_dim=8, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=16)), ("OlmoeForCausalLM", "OlmoeConfig", dict(num_experts=3, num_experts_per_tok=2)), ("PhimoeForCausalLM", "PhimoeConfig", dict(num_local_experts=3, num_experts_per_tok=2)),
                   ("GraniteMoeForCausalLM", "GraniteMoeConfig", dict(num_local_experts=3, num_experts_per_tok=2)), ("JetMoeForCausalLM", "JetMoeConfig", dict(kv_channels=8, num_local_experts=3, num_experts_per_tok=1)), ("DiffLlamaForCausalLM", "DiffLlamaConfig", dict(num_key_value_heads=2)), ("ApertusForCausalLM", "ApertusConfig", {}), ("ArceeForCausalLM", "ArceeConfig", {}),
                   ("GptOssForCausalLM", "GptOssConfig", dict(head_dim=8, num_local_experts=3, num_experts_per_tok=2, sliding_window=4)), ("SeedOssForCausalLM", "SeedOssConfig", dict(head_dim=8)), ("Lfm2ForCausalLM", "Lfm2Config", dict(layer_types=["conv", "full_attention"])), ("BitNetForCausalLM", "BitNetConfig", {}),
                   ("DeepseekV3ForCausalLM", "DeepseekV3Config", dict(num_key_value_heads=2, q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1, moe_intermediate_size=16)),
                   ("DeepseekV2ForCausalLM", "DeepseekV2Config", dict(num_key_value_heads=2, q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, first_k_dense_replace=1, moe_intermediate_size=16, n_group=None, topk_group=None, topk_method="greedy"))]:
    tr(m, c, dict(LLAMA, **more))
tr("CodeGenForCausalLM", "CodeGenConfig", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=4, n_positions=32, rotary_dim=4))
tr("GPTBigCodeForCausalLM", "GPTBigCodeConfig", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32))
tr("MptForCausalLM", "MptConfig", dict(vocab_size=64, d_model=16, n_layers=2, n_heads=2, max_seq_len=32))
tr("BioGptForCausalLM", "BioGptConfig", SMALL)
tr("OpenAIGPTLMHeadModel", "OpenAIGPTConfig", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32))
tr("CTRLLMHeadModel", "CTRLConfig", dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=32, dff=32))
tr("FalconMambaForCausalLM", "FalconMambaConfig", dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, state_size=4), inputs=("input_ids",), calls=(lambda: (ids(2, 6),),), axes=None)
tr("RecurrentGemmaForCausalLM", "RecurrentGemmaConfig", dict(LLAMA, head_dim=8, lru_width=16, attention_window_size=4, block_types=["recurrent", "attention"]), inputs=("input_ids",), calls=(lambda: (ids(2, 6),),), axes=None)
# encoders with decoders
for m, c in [("MBartForConditionalGeneration", "MBartConfig"), ("BlenderbotForConditionalGeneration", "BlenderbotConfig"), ("M2M100ForConditionalGeneration", "M2M100Config"), ("PegasusXForConditionalGeneration", "PegasusXConfig"), ("PLBartForConditionalGeneration", "PLBartConfig"), ("BlenderbotSmallForConditionalGeneration", "BlenderbotSmallConfig")]:
    translator(m, c, dict(ENCODER_DECODER, **({"block_size": 4, "num_global_tokens": 2} if "PegasusX" in m else {})))
translator("MT5ForConditionalGeneration", "MT5Config", T5)
translator("UMT5ForConditionalGeneration", "UMT5Config", T5)
translator("SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", dict(T5, num_experts=2, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, num_decoder_layers=2))
translator("ProphetNetForConditionalGeneration", "ProphetNetConfig", dict(vocab_size=64, hidden_size=16, encoder_ffn_dim=32, decoder_ffn_dim=32, num_encoder_layers=1, num_decoder_layers=1, num_encoder_attention_heads=2, num_decoder_attention_heads=2, max_position_embeddings=32))
# vision
vision("ViTMSNModel", "ViTMSNConfig", VIT, HIDDEN)
vision("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", VIT, HIDDEN)
vision("DINOv3ViTModel", "DINOv3ViTConfig", VIT, HIDDEN)
vision("IJepaModel", "IJepaConfig", VIT, HIDDEN)
vision("ConvNextV2ForImageClassification", "ConvNextV2Config", dict(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2))
vision("LevitForImageClassification", "LevitConfig", dict(image_size=64, hidden_sizes=[16, 16, 16], num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[4, 4, 4]), size=64)
vision("PvtForImageClassification", "PvtConfig", dict(image_size=32, depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], sequence_reduction_ratios=[2, 2, 1, 1]))
vision("PvtV2ForImageClassification", "PvtV2Config", dict(image_size=32, depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], sr_ratios=[2, 2, 1, 1]))
vision("BitForImageClassification", "BitConfig", dict(embedding_size=8, hidden_sizes=[32, 64], depths=[1, 1], num_groups=4))
vision("MobileViTV2ForImageClassification", "MobileViTV2Config", dict(image_size=64, width_multiplier=0.25), size=64)
vision("MobileNetV1ForImageClassification", "MobileNetV1Config", dict(depth_multiplier=0.25, image_size=32))
vision("SwiftFormerForImageClassification", "SwiftFormerConfig", dict(image_size=64, depths=[1, 1, 1, 1], embed_dims=[8, 8, 16, 16]), size=64)
vision("FocalNetForImageClassification", "FocalNetConfig", dict(image_size=32, embed_dim=8, hidden_sizes=[8, 16], depths=[1, 1], focal_levels=[2, 2], focal_windows=[3, 3]))
vision("DonutSwinModel", "DonutSwinConfig", dict(image_size=32, patch_size=4, embed_dim=8, depths=[1, 2], num_heads=[2, 2], window_size=4), HIDDEN)
vision("HieraModel", "HieraConfig", dict(image_size=[64, 64], embed_dim=8, depths=[1, 1], num_heads=[1, 2], masked_unit_size=[4, 4], query_stride=[2, 2], num_query_pool=1), HIDDEN, size=64)
vision("GLPNForDepthEstimation", "GLPNConfig", dict(depths=[1, 1, 1, 1], sr_ratios=[8, 4, 2, 1], hidden_sizes=[8, 8, 16, 16], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=8), ("predicted_depth",))
vision("VitDetModel", "VitDetConfig", dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, image_size=32, pretrain_image_size=32, patch_size=8, window_size=2, window_block_indices=[0]), HIDDEN)
vision("PoolFormerModel", "PoolFormerConfig", dict(depths=[1, 1], hidden_sizes=[8, 16], num_encoder_blocks=2, patch_sizes=[7, 3], strides=[4, 2], padding=[2, 1]), HIDDEN)
tr("VideoMAEModel", "VideoMAEConfig", dict(VIT, num_frames=4, tubelet_size=2), HIDDEN, PIXELS, images((1, 4, 3, 32, 32), (2, 4, 3, 32, 32)), {0: {0: "b"}})
tr("VivitModel", "VivitConfig", dict(VIT, num_frames=4, tubelet_size=[2, 8, 8]), HIDDEN, PIXELS, images((1, 4, 3, 32, 32),), None)
tr("TimesformerModel", "TimesformerConfig", dict(VIT, num_frames=4), HIDDEN, PIXELS, images((1, 4, 3, 32, 32),), None)
tr("SegGptModel", "SegGptConfig", dict(VIT, image_size=[32, 16], patch_size=8, pretrain_image_size=16, intermediate_hidden_state_indices=[0, 1], merge_index=0, decoder_hidden_size=8), HIDDEN, ("pixel_values", "prompt_pixel_values", "prompt_masks"), (lambda: (randn(1, 3, 16, 16), randn(1, 3, 16, 16), randn(1, 3, 16, 16)),), None)
# detection and segmentation
DETR = dict(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=5, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
for m, c, more in [("ConditionalDetrForObjectDetection", "ConditionalDetrConfig", {}), ("TableTransformerForObjectDetection", "TableTransformerConfig", {}), ("DeformableDetrForObjectDetection", "DeformableDetrConfig", dict(d_model=32, num_feature_levels=2))]:
    tr(m, c, dict(DETR, **more), ("logits", "pred_boxes"), PIXELS, images((1, 3, 64, 64)), None)
# two kinds of input
TEXT = dict(SMALL, eos_token_id=2, bos_token_id=1, pad_token_id=0)
for m, c in [("ChineseCLIPModel", "ChineseCLIPConfig"), ("CLIPSegModel", "CLIPSegConfig"), ("OwlViTModel", "OwlViTConfig"), ("AltCLIPModel", "AltCLIPConfig")]:
    tr(m, c, dict(text_config=TEXT, vision_config=VIT, projection_dim=8), ("logits_per_image",), ("input_ids", "pixel_values", "attention_mask"), (lambda: (ids(2, 6), randn(2, 3, 32, 32), torch.ones(2, 6, dtype=torch.long)),), None)
tr("GitForCausalLM", "GitConfig", dict(SMALL, vision_config=VIT), ("logits",), ("input_ids", "attention_mask", "pixel_values"), (lambda: tokens(2, 6) + (randn(2, 3, 32, 32),),), None)
tr("CLIPVisionModelWithProjection", "CLIPVisionConfig", dict(VIT, projection_dim=8), ("image_embeds",), PIXELS, images((1, 3, 32, 32), (2, 3, 32, 32)), {0: {0: "b"}})
tr("SiglipVisionModel", "SiglipVisionConfig", VIT, HIDDEN + ("pooler_output",), PIXELS, images((1, 3, 32, 32), (2, 3, 32, 32)), {0: {0: "b"}})
tr("LayoutLMv3Model", "LayoutLMv3Config", dict(SMALL, visual_embed=False, coordinate_size=2, shape_size=4, max_2d_position_embeddings=64), HIDDEN, ("input_ids", "bbox"), (lambda: (ids(2, 6), torch.randint(0, 30, (2, 6, 1)).expand(2, 6, 4).contiguous()),), None)
# audio
for m, c, more in [("Data2VecAudioModel", "Data2VecAudioConfig", {}), ("UniSpeechSatModel", "UniSpeechSatConfig", {}), ("Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", dict(conv_depthwise_kernel_size=3)), ("SEWDModel", "SEWDConfig", dict(squeeze_factor=2, position_buckets=8, max_position_embeddings=32))]:
    tr(m, c, dict(W2V, **more), HIDDEN, ("input_values",), (lambda: (randn(1, 400),), lambda: (randn(2, 400),)), {0: {0: "b"}})
tr("Wav2Vec2BertModel", "Wav2Vec2BertConfig", dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, feature_projection_input_dim=8, conv_depthwise_kernel_size=3), HIDDEN, ("input_features",), (lambda: (randn(1, 20, 8),), lambda: (randn(2, 28, 8),)), {0: {0: "b", 1: "s"}})
tr("Speech2TextForConditionalGeneration", "Speech2TextConfig", dict(ENCODER_DECODER, input_feat_per_channel=8, conv_channels=8, num_conv_layers=2, max_source_positions=32, max_target_positions=16), ("logits",), ("input_features", "decoder_input_ids"), (lambda: (randn(2, 24, 8), ids(2, 4)),), None)
tr("MoonshineForConditionalGeneration", "MoonshineConfig", dict(vocab_size=64, hidden_size=16, intermediate_size=32, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1, encoder_num_attention_heads=2, decoder_num_attention_heads=2, max_position_embeddings=64), ("logits",), ("input_values", "decoder_input_ids"), (lambda: (randn(1, 2000), ids(1, 4)),), None)
tr("DacModel", "DacConfig", dict(encoder_hidden_size=4, downsampling_ratios=[2, 2], decoder_hidden_size=16, upsampling_ratios=[2, 2], n_codebooks=2, codebook_size=16, codebook_dim=4), ("audio_values",), ("input_values",), (lambda: (randn(1, 1, 64),),), None)
tr("MimiModel", "MimiConfig", dict(num_filters=4, upsampling_ratios=[4, 2], hidden_size=16, codebook_size=16, codebook_dim=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=32, vector_quantization_hidden_dimension=8, num_quantizers=3, num_semantic_quantizers=1, sampling_rate=160, frame_rate=10, _frame_rate=10, upsample_groups=16),
   ("audio_values",), ("input_values",), (lambda: (randn(1, 1, 160),),), None)
tr("SpeechT5ForSpeechToText", "SpeechT5Config", dict(W2V, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32), ("logits",), ("input_values", "decoder_input_ids"), (lambda: (randn(1, 400), ids(1, 4, 20)),), None)
# series
tr("InformerModel", "InformerConfig", dict(prediction_length=4, context_length=8, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, lags_sequence=[1, 2], num_time_features=1), HIDDEN,
   ("past_values", "past_time_features", "past_observed_mask", "future_values", "future_time_features"), (lambda: (randn(2, 10), randn(2, 10, 1), torch.ones(2, 10), randn(2, 4), randn(2, 4, 1)),), None)
tr("PatchTSMixerForPrediction", "PatchTSMixerConfig", dict(num_input_channels=2, context_length=16, patch_length=4, patch_stride=4, d_model=8, num_layers=1, prediction_length=4), ("prediction_outputs",), ("past_values",), (lambda: (randn(2, 16, 2),),), None)

table = Table()
table.programs = before.programs[first:]
del before.programs[first:]
